/// One CPU of the model: its clock, its misses in flight, its streams and its counts.
///
/// Threads: advanced by its own thread; clock, state and counts are read by others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "counts.hpp"
#include "stream_detector.hpp"
#include "units.hpp"

namespace homing::lab::model {

/// The misses that a CPU has in flight: one more has to wait for the oldest.
class miss_window {
 public:
  explicit miss_window(unsigned size) : done_(size, 0) {}
  /// When one more can be issued, at `now` or later.
  [[nodiscard]] ticks room(ticks now) const noexcept { return std::max(now, done_[next_]); }
  void issue(ticks done) noexcept {
    done_[next_] = done;
    next_ = next_ + 1 == done_.size() ? 0 : next_ + 1;
  }
  /// When all that are in flight are done.
  [[nodiscard]] ticks drained() const noexcept { return *std::max_element(done_.begin(), done_.end()); }

 private:
  std::vector<ticks> done_;
  std::size_t next_ = 0;
};

/// What an access did to its line: nothing that another core could notice, or it took the line from one.
enum class movement : std::uint8_t { none, between_caches, between_nodes };

struct alignas(64) cpu_state {
  cpu_state(unsigned core_of, unsigned shared_of, unsigned node_of, unsigned overlap, const count_layout& layout)
      : core(core_of), shared(shared_of), node(node_of), window(overlap), counts(layout) {}

  [[nodiscard]] ticks now() const noexcept { return clock.load(std::memory_order_relaxed); }
  /// Time passes, with work or waiting for memory.
  void advance_to(ticks t) noexcept {
    if (timed && t > now()) clock.store(t, std::memory_order_relaxed);
  }
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
  bool timed = true;                // false while an interrupt is served, which takes no virtual time [LM9]
  ticks next_check = 0;             // when it has to look where the others are
  bool watched = false;             // somebody asks for `moved`
  movement moved = movement::none;  // of the last access, if that was not from the private cache
  miss_window window;
  stream_detector streams;
  cpu_counts counts;
};

}  // namespace homing::lab::model
