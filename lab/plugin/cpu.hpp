/// One CPU of the model: its clock, its scoreboard, its misses in flight, its streams and its counts.
///
/// Threads: advanced by its own thread; clock, state and counts are read by others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "bell.hpp"
#include "counts.hpp"
#include "decode.hpp"
#include "kernel_spin.hpp"
#include "nested_interrupts.hpp"
#include "pipeline.hpp"
#include "stream_detector.hpp"
#include "units.hpp"

namespace homing::lab::model {

/// The misses that a CPU has in flight: one more has to wait for the first that is done.
class miss_window {
 public:
  explicit miss_window(unsigned size) : done_(size, 0) {}
  /// When one more can be issued, at `now` or later.
  [[nodiscard]] ticks room(ticks now) const noexcept { return std::max(now, done_[first_]); }
  void issue(ticks done) noexcept {
    done_[first_] = done;
    first_ = static_cast<std::size_t>(std::min_element(done_.begin(), done_.end()) - done_.begin());
  }
  /// When all that are in flight are done.
  [[nodiscard]] ticks drained() const noexcept { return *std::max_element(done_.begin(), done_.end()); }

 private:
  std::vector<ticks> done_;
  std::size_t first_ = 0;  // of them, that which is done first
};

/// Lines that a load has asked for and that are not there yet: another load of one waits for it.
class lines_on_their_way {
 public:
  void add(std::uint64_t line, ticks done) noexcept { table_[line % size] = {line, done}; }
  /// When a line that the cache has is there for a load at `at`.
  [[nodiscard]] ticks there(std::uint64_t line, ticks at) const noexcept {
    const entry& e = table_[line % size];
    return e.line == line ? std::max(at, e.done) : at;
  }

 private:
  static constexpr std::uint64_t size = 64;
  struct entry {
    std::uint64_t line = ~std::uint64_t{0};
    ticks done = 0;
  };
  entry table_[size];
};

/// The lines that stores past the caches are filling: each is sent once it is full, here when it is begun.
class open_lines {
 public:
  /// Returns false if the line is open already.
  bool open(std::uint64_t line) noexcept {
    for (const std::uint64_t l : lines_) {
      if (l == line) return false;
    }
    lines_[next_] = line;
    next_ = (next_ + 1) % size;
    return true;
  }

 private:
  static constexpr std::size_t size = 4;
  std::uint64_t lines_[size] = {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}};
  std::size_t next_ = 0;
};

/// The lines that were used last: those which the cache nearest to the core would have. Direct-mapped.
class nearest_lines {
 public:
  /// Returns true if it was among them; it is now.
  bool use(std::uint64_t line) noexcept {
    std::uint64_t& slot = lines_[line % size];
    const bool near = slot == line + 1;
    slot = line + 1;
    return near;
  }

 private:
  static constexpr std::uint64_t size = 512;  // 32 KiB
  std::uint64_t lines_[size] = {};
};

/// Where the private cache had the lines that were used last. A slot belongs to one set for good, so an entry that is
/// out of date is a slot whose line is another one.
class slots_of_late {
 public:
  [[nodiscard]] std::atomic<std::uint64_t>* find(std::uint64_t line) const noexcept {
    const entry& e = table_[line % size];
    return e.line == line ? e.at : nullptr;
  }
  void note(std::uint64_t line, std::atomic<std::uint64_t>* at) noexcept { table_[line % size] = {line, at}; }

 private:
  static constexpr std::uint64_t size = 16;
  struct entry {
    std::uint64_t line = ~std::uint64_t{0};
    std::atomic<std::uint64_t>* at = nullptr;
  };
  entry table_[size];
};

/// What an access did to its line: nothing that another core could notice, or it took the line from one.
enum class movement : std::uint8_t { none, between_caches, between_nodes };

struct cpu_state;

/// A CPU's part in the waiting for clocks, which the pacer does. All relaxed: what is missed costs a millisecond.
struct waiting {
  static constexpr ticks never = ~ticks{0};

  std::atomic<ticks> awaited{never};    // the clock of this CPU at which somebody wants to be woken
  std::atomic<cpu_state*> on{nullptr};  // whose clock this CPU waits for; until it is there
  std::atomic<ticks> until{0};
  bell woken;
};

struct alignas(64) cpu_state {
  cpu_state(unsigned core_of, unsigned shared_of, unsigned node_of, unsigned overlap, const count_layout& layout,
            const core_shape& shape = {}, double cpi = 1)
      : core(core_of), shared(shared_of), node(node_of), window(overlap), board(shape, cpi), counts(layout) {}

  /// An interrupt's instructions, for which the others wait: ten times what a timer's usually has.
  static constexpr std::uint64_t untimed_max = 50000;

  [[nodiscard]] ticks now() const noexcept { return clock.load(std::memory_order_relaxed); }
  void set_timed(bool is) noexcept {
    timed = is;
    held = false;
    spin.forget();
    nested.forget();
    untimed_left = untimed_max;
    aside.store(false, std::memory_order_relaxed);
  }
  /// An interrupt is served while a system call is, from now on or no longer. [LM9]
  void interrupt() noexcept {
    if (timed || held) untimed_left = untimed_max;
    held = timed = false;
    spin.forget();
  }
  void resume() noexcept {
    timed = true;
    aside.store(false, std::memory_order_relaxed);
  }
  /// The kernel waits for another CPU, and is ahead of others: until it goes on, no virtual time passes. [LM14]
  void hold(bool is) noexcept {
    held = is;
    timed = !is;
  }
  /// It runs `instructions` that take no virtual time. Who does so for long may itself wait for a CPU that waits for
  /// it.
  void run_untimed(std::uint64_t instructions) noexcept {
    if (untimed_left == 0 || held) return;
    untimed_left -= std::min(untimed_left, instructions);
    if (untimed_left == 0) aside.store(true, std::memory_order_relaxed);  // a hint for those who wait, and look again
  }
  /// Time passes, with work or waiting for memory.
  void advance_to(ticks t) noexcept {
    if (timed && t > now()) clock.store(t, std::memory_order_relaxed);
  }
  /// When all that it has begun is done.
  [[nodiscard]] ticks drained() const noexcept { return std::max(window.drained(), board.drained()); }
  /// Time has passed without this CPU: it was idle.
  void catch_up(ticks t) noexcept {
    if (t <= now()) return;
    skipped.store(skipped.load(std::memory_order_relaxed) + (t - now()), std::memory_order_relaxed);
    clock.store(t, std::memory_order_relaxed);
  }

  unsigned core, shared, node;
  std::atomic<ticks> clock{0};    // relaxed everywhere: one writer, and readers want any recent value
  std::atomic<ticks> skipped{0};  // the part of it that it was idle
  std::atomic<ticks> program{0};  // its clock when it last ran some of the program
  std::atomic<bool> running{false};
  std::atomic<std::uint64_t> rests{0};        // how often it had nothing to do
  std::atomic<ticks> called{waiting::never};  // while it is idle: when another asked for it [LM8]
  bool timed = true;                          // false while an interrupt is served, which takes no virtual time [LM9]
  bool held = false;                          // true if it is not timed because it waits in the kernel
  std::atomic<bool> aside{false};  // it has been served for so long that others must not wait for its clock [LM7]
  std::uint64_t untimed_left = 0;  // instructions until then
  waiting wait;
  ticks next_check = 0;             // when it has to look where the others are
  bool watched = false;             // somebody asks for `moved`
  movement moved = movement::none;  // of the last access, if that was not from the private cache
  miss_window window;
  stream_detector streams;
  pipeline board;
  const code_block* block = nullptr;  // what it runs, and how many of its instructions are on the board already
  std::size_t begun = 0;
  kernel_spin spin;
  nested_interrupts nested;
  lines_on_their_way coming;
  open_lines open;
  nearest_lines nearest;
  slots_of_late slots;
  cpu_counts counts;
};

}  // namespace homing::lab::model
