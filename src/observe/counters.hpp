/// What a thread did, counted where it happens: one line of the thread's own, read by whoever reports.
///
/// Tasks, of which there are many more than of anything else, are counted only if somebody wants to read it: a count
/// of each would cost an empty loop up to 5%. The other events are always counted.
/// Threads: the owner adds, with a plain load and store; any thread reads a value that may be a few counts old.
/// Source:  TBB-NUMA 4.4.1 to 4.4.3 names the events (steals, revokes, bypasses).
#pragma once

#include <array>
#include <cstdint>

#include "sync/atomic.hpp"

namespace homing::observe {

enum class event : std::uint8_t {
  home,          ///< a task ran in its home domain: that of its affinity, otherwise of the thread that spawned it
  away,          ///< a task ran elsewhere
  steal_near,    ///< taken from another thread's deque, same domain
  steal_far,     ///< taken from another thread's deque, another domain
  mailbox,       ///< received from a mailbox
  shared_queue,  ///< taken from a shared queue
  revoke,        ///< an affinitized task that its own creator took back, in another domain than its home
  bypass,        ///< an affinitized task that a thief left for its home domain
  wakeup,        ///< an idle worker called for work; one that has slept for a while is woken by it
  count_
};

/// Whether threads count their tasks (home and away). Decided when the library is loaded, before there are any.
inline constinit sync::atomic<bool> tasks_are_counted{false};

class counters {
 public:
  void add(event e, std::uint64_t times = 1) noexcept {
    auto& c = values_[static_cast<std::size_t>(e)];
    c.store(c.load(sync::relaxed) + times, sync::relaxed);  // relaxed: one writer, and nothing is published by it
  }
  /// In the child of a fork: what the thread did before is its parent's.
  void begin_anew() noexcept {
    for (auto& c : values_) c.store(0, sync::relaxed);
  }
  [[nodiscard]] std::uint64_t read(event e) const noexcept {
    return values_[static_cast<std::size_t>(e)].load(sync::relaxed);
  }

 private:
  std::array<sync::atomic<std::uint64_t>, static_cast<std::size_t>(event::count_)> values_{};
};

}  // namespace homing::observe
