/// How long a thread that is out of work looks before it sleeps.
///
/// Threads: the searching thread's own.
/// Source:  the constants are measured: `make bench` (pipeline/light, flow/ping_pong, uts/binomial, on more threads
/// than CPUs).
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/arena/arena.hpp"
#include "runtime/search/search_round.hpp"
#include "runtime/settings/control.hpp"
#include "sync/pause.hpp"

namespace homing::scheduler {

inline constexpr std::chrono::nanoseconds search_budget_in_phase = std::chrono::microseconds(500);

/// Before a thread that found nothing sleeps.
inline std::chrono::nanoseconds budget_in(const arena& a) noexcept {
  if (a.in_phase()) {
    return search_budget_in_phase;
  }
  return a.leaves_fast() || fast_leave_everywhere() ? std::chrono::nanoseconds{0} : a.settings().search_budget;
}

/// How long a worker that leaves the arena waits awake for the next call. One that was called soon after the last time
/// waits longer: its program has a serial part between two loops. [S18]
inline std::chrono::nanoseconds time_awake(const arena& a, bool has_looked_long, bool was_called_soon) noexcept {
  const std::chrono::nanoseconds budget = budget_in(a);
  if (budget.count() == 0) {
    return budget;  // who leaves fast does not wait
  }
  return (has_looked_long ? std::chrono::nanoseconds{0} : budget) +
         (was_called_soon ? wait_in_serial_part(a.settings().search_budget) : std::chrono::nanoseconds{0});
}

/// How long a thread looks for work before it sleeps: some rounds of pauses, then of giving the CPU away, then time.
class search_pace {
 public:
  /// False once the budget is used. Ends early where `is_over`, asked all the while, says that there is something for
  /// this thread.
  template <class IsOver>
  bool pause(std::chrono::nanoseconds budget, IsOver&& is_over) noexcept {
    ++rounds_;
    const unsigned pauses = sync::pauses_in(pause_ns << std::min(rounds_, pause_rounds));
    bool is_over_now = is_over();
    for (unsigned i = 0; i < pauses && !is_over_now; ++i) {
      sync::cpu_relax();
      is_over_now = is_over();
    }
    if (rounds_ <= pause_rounds) {
      return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (began_ == never) {
      began_ = now;
    } else if (now - began_ > budget && rounds_ > home_rounds) {
      return false;  // not before it has looked for all that it may take: who only came back would find it never
    }
    if (!is_over_now) {
      sched_yield();
    }
    return true;
  }
  [[nodiscard]] patience left() const noexcept { return rounds_ < patient_rounds ? patience::some : patience::none; }
  [[nodiscard]] insistence on_forks() const noexcept {
    if (rounds_ <= pause_rounds) {
      return insistence::asks;
    }
    return rounds_ <= home_rounds ? insistence::takes : insistence::takes_from_afar;
  }
  [[nodiscard]] round_end end() const noexcept { return is_whole_ ? round_end::whole : round_end::at_news; }
  /// After pause(): the last look left nothing to others.
  [[nodiscard]] bool has_looked_everywhere() const noexcept { return rounds_ > patient_rounds; }
  /// The next look is at all victims. False if this one was to be already.
  bool look_at_all_next() noexcept { return !std::exchange(is_whole_, true); }
  /// The same, and leaves nothing to others.
  bool skip_to_last_look() noexcept {
    rounds_ = std::max(rounds_, home_rounds + 1);
    is_whole_ = true;
    return !std::exchange(was_last_look_, true);
  }
  void reset() noexcept {
    rounds_ = 0;
    is_whole_ = false;
    was_last_look_ = false;
    began_ = never;
  }
  [[nodiscard]] unsigned rounds() const noexcept { return rounds_; }
  static constexpr unsigned pause_ns = 10;  ///< the pause behind the n-th round lasts 2^n times that
  static constexpr unsigned pause_rounds = 5;
  static constexpr unsigned patient_rounds = pause_rounds + 4;
  /// A thread that looks for work before its domain's part of a loop is dealt would carry off another domain's. Others
  /// have the CPU in between, where threads are more than CPUs.
  static constexpr unsigned home_rounds = pause_rounds + 20;

 private:
  unsigned rounds_ = 0;
  bool is_whole_ = false;
  bool was_last_look_ = false;
  static constexpr std::chrono::steady_clock::time_point never{};
  std::chrono::steady_clock::time_point began_ = never;  ///< to give the CPU away
};

}  // namespace homing::scheduler
