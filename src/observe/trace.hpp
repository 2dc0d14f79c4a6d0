/// A trace of tasks for people to look at: who ran which task when, and how it got there.
///
/// Ownership: each thread has a buffer of its own, bounded and never freed; when it is full, later tasks are only
///            counted.
/// Threads:   the owner begins a task's slice and ends it; a task that goes on elsewhere has its next slice there.
///            Whoever writes the file reads what had begun by then. A task that frees a waiter may still be ending when
///            the program exits: it is in the trace, as it is in the report's counts.
/// Cost:      none when it is off but a look at a pointer that is null.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "observe/counters.hpp"
#include "sync/atomic.hpp"

namespace homing::observe {

/// How a thread came by a task, or to go on with one.
enum class taken_from : std::uint8_t { own, steal_near, steal_far, mailbox, shared_queue, revoke, resumed };

struct traced_task {
  std::int64_t begin_ns;  ///< of the steady clock
  std::uint16_t ran_in;   ///< domain
  std::uint16_t home;
  taken_from how;
};

/// Where a trace keeps a slice that has begun: for the call that ends it.
struct traced_place {
  std::size_t at;
  unsigned life;  ///< of the buffer: the child of a fork begins anew
};

/// Of one thread.
class trace_buffer {
 public:
  static constexpr std::size_t capacity = std::size_t{1} << 18U;  ///< 6 MiB of address space; touched as it fills

  /// What the counters say that the thread has just done to get a task: compares them with those of its last call.
  [[nodiscard]] taken_from how_taken(const counters& now) noexcept;
  /// The owner's.
  [[nodiscard]] traced_place begin(const traced_task& task) noexcept;
  /// The owner's, once for each begin().
  void end(traced_place place, std::int64_t end_ns) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return count_.load(sync::acquire); }  // partner: begin()
  [[nodiscard]] const traced_task& operator[](std::size_t i) const noexcept { return entries_[i].task; }
  /// When the task ended; nothing while it runs.
  [[nodiscard]] std::optional<std::int64_t> end_ns(std::size_t i) const noexcept;
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(sync::relaxed); }
  [[nodiscard]] pid_t thread() const noexcept { return thread_; }
  [[nodiscard]] const trace_buffer* next() const noexcept { return next_; }

 private:
  friend class trace_access;
  static constexpr std::size_t seen_count = 5;
  static constexpr std::int64_t still_running = std::numeric_limits<std::int64_t>::min();

  struct entry {
    traced_task task;
    sync::atomic<std::int64_t> end_ns;
  };

  trace_buffer* next_ = nullptr;
  entry* entries_ = nullptr;
  pid_t thread_ = 0;
  unsigned life_ = 0;  ///< changed only where there is one thread
  sync::atomic<std::size_t> count_{0};
  sync::atomic<std::uint64_t> dropped_{0};
  std::uint64_t seen_[seen_count] = {};
};

/// From now on, threads get a buffer. Called when the library is loaded, if HOMING_TRACE asks for it.
void switch_trace_on() noexcept;
/// The calling thread's new buffer; null if traces are off or there is no memory.
[[nodiscard]] trace_buffer* make_trace_buffer(const counters& now) noexcept;
/// Threads that got none for want of memory, and in whose place there are no tasks in the trace.
[[nodiscard]] unsigned threads_without_trace() noexcept;
/// In the child of a fork: only the calling thread's buffer (or none) is left, and it is empty, as are its counters.
void restart_trace_after_fork(trace_buffer* mine) noexcept;
/// The newest buffer, linked by next().
[[nodiscard]] const trace_buffer* all_traces() noexcept;
/// Whether any task has begun in this process, as far as there was memory to note it.
[[nodiscard]] bool has_traced_tasks() noexcept;

[[nodiscard]] std::int64_t trace_clock_ns() noexcept;

}  // namespace homing::observe
