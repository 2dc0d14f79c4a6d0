/// How long a thread that is out of work looks before it sleeps.
///
/// Threads: the searching thread's own.
/// Source:  the constants are measured: `make bench` (pipeline/light, flow/ping_pong, uts/binomial, on more threads
/// than CPUs).
#pragma once

#include <sched.h>

#include <chrono>

#include "runtime/arena/arena.hpp"
#include "runtime/search/find_task.hpp"
#include "runtime/settings/control.hpp"

namespace homing::scheduler {

inline constexpr std::chrono::nanoseconds search_budget_in_phase = std::chrono::microseconds(500);

/// Before a thread that found nothing sleeps.
inline std::chrono::nanoseconds budget_in(const arena& a) noexcept {
  if (a.in_phase()) {
    return search_budget_in_phase;
  }
  return a.leaves_fast() || fast_leave_everywhere() ? std::chrono::nanoseconds{0} : a.settings().search_budget;
}

/// How long a thread looks for work before it sleeps: some rounds of pauses, then of giving the CPU away, then time.
class search_pace {
 public:
  /// False once the budget is used.
  bool pause(std::chrono::nanoseconds budget) noexcept {
    ++rounds_;
    if (rounds_ <= pause_rounds) {
      for (unsigned i = 0; i < (1U << rounds_); ++i) {
        sync::cpu_relax();
      }
      return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (rounds_ == pause_rounds + 1) {
      began_ = now;
    } else if (now - began_ > budget) {
      return false;
    }
    sched_yield();
    return true;
  }
  [[nodiscard]] patience left() const noexcept { return rounds_ < patient_rounds ? patience::some : patience::none; }
  /// The rounds of pauses are over, some microseconds.
  [[nodiscard]] bool has_paused() const noexcept { return rounds_ > pause_rounds; }
  /// After pause(): the last look left nothing to others.
  [[nodiscard]] bool has_looked_everywhere() const noexcept { return rounds_ > patient_rounds; }
  void reset() noexcept { rounds_ = 0; }
  [[nodiscard]] unsigned rounds() const noexcept { return rounds_; }
  static constexpr unsigned pause_rounds = 5;
  static constexpr unsigned patient_rounds = pause_rounds + 4;

 private:
  unsigned rounds_ = 0;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace homing::scheduler
