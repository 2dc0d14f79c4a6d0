/// Two threads meet again and again, each time at a slightly different distance: the frame of the fences' stress tests.
#pragma once

#include <chrono>
#include <thread>

#include "sync/atomic.hpp"
#include "unit/common/await.hpp"

namespace homing::testing {

/// On a busy machine a round can take a scheduler's slice: then fewer rounds are run. Decides nothing else.
class time_budget {
 public:
  [[nodiscard]] bool left() noexcept {
    constexpr unsigned calls_per_look = 64;  // the clock would take the threads apart
    if (++calls_ % calls_per_look == 0) {
      over_ = std::chrono::steady_clock::now() > end_;
    }
    return !over_;
  }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  unsigned calls_ = 0;
  bool over_ = false;
};

/// Lets two threads begin each round together. Each calls meet() with the same rising number, from 1.
class meeting {
 public:
  void meet(unsigned round) {
    arrived_.fetch_add(1, sync::seq_cst);
    // Spins: who has slept arrives late, and late is no race.
    await_spinning("the other thread of a round", [&] { return arrived_.load(sync::acquire) >= 2 * round; });
  }

  /// As meet(), unless the caller's time is up: then both threads get false in the same round.
  [[nodiscard]] bool meet(unsigned round, time_budget& budget) {
    if (!budget.left()) {
      last_.store(round, sync::relaxed);  // before the arrival, which the other one waits for
    }
    meet(round);
    return round < last_.load(sync::relaxed);
  }

 private:
  alignas(sync::cache_line_bytes) sync::atomic<unsigned> arrived_{0};
  sync::atomic<unsigned> last_{~0U};
};

/// For loops that must not pause while there is something to race with, and must not keep the CPU from the other side
/// where both share one.
class restlessness {
 public:
  /// To be called in each round; gives the CPU away when many in a row have found nothing.
  void round(bool found) {
    idle_ = found ? 0 : idle_ + 1;
    if (idle_ == idle_rounds_max) {
      idle_ = 0;
      std::this_thread::yield();
    }
  }

 private:
  static constexpr unsigned idle_rounds_max = 3000;
  unsigned idle_ = 0;
};

/// Some loads' time, different from round to round, to move one side's instructions through the other's.
inline void dawdle(unsigned steps) {
  static const sync::atomic<unsigned> something{0};
  for (; steps > 0; --steps) {
    static_cast<void>(something.load(sync::acquire));
  }
}

}  // namespace homing::testing
