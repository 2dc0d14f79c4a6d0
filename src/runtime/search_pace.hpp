/// How a thread that is out of work goes on: how long it looks before it sleeps, and how soon it steals.
///
/// Threads: the searching thread's own.
/// Source:  the constants are measured: `make bench` (pipeline/light, flow/ping_pong, uts/binomial, on more threads
/// than CPUs).
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "platform/clock.hpp"
#include "runtime/arena.hpp"
#include "runtime/control.hpp"
#include "runtime/resource_manager.hpp"
#include "runtime/task_source.hpp"

namespace homing::scheduler {

inline constexpr std::chrono::nanoseconds search_budget_in_phase = std::chrono::microseconds(500);

/// Before a thread that found nothing sleeps.
inline std::chrono::nanoseconds budget_in(const arena& a) noexcept {
  if (a.in_phase()) {
    return search_budget_in_phase;
  }
  return a.leaves_fast() || fast_leave_everywhere() ? std::chrono::nanoseconds{0} : a.manager().search_budget();
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
  [[nodiscard]] patience left() const noexcept { return rounds_ < pause_rounds + 4 ? patience::some : patience::none; }
  void reset() noexcept { rounds_ = 0; }
  [[nodiscard]] unsigned rounds() const noexcept { return rounds_; }
  static constexpr unsigned pause_rounds = 5;

 private:
  unsigned rounds_ = 0;
  std::chrono::steady_clock::time_point began_;
};

/// How long the thief and its victim both had work since the theft: what was won by it.
inline std::int64_t gained_ns(const thread_state& t, std::int64_t now_ns) noexcept {
  std::int64_t until_ns = now_ns;
  if (t.robbed < t.in->slot_count()) {  // else it was in another arena: a hint is lost
    const std::int64_t dry_ns = t.in->slot(t.robbed).hungry_since_ns.load(sync::relaxed);
    if (dry_ns > t.stole_at_ns) {
      until_ns = std::min(until_ns, dry_ns);
    }
  }
  return until_ns - t.stole_at_ns;
}

inline constexpr unsigned shyness_max = search_pace::pause_rounds + 22;

/// A thief whose theft won less time than it cost has only carried its victim's tasks to another cache, and will soon
/// be robbed of them in turn: it waits longer and longer before it steals again, longest before it takes the only task
/// of a deque. A chain of small tasks stays where it is, then. Where others search too, nobody misses the theft, and it
/// must pay more. Where lines travel slowly between CPUs, a theft must pay more too: both floors are multiples of a
/// theft's cost where it was cheap.
inline void reconsider_stealing(thread_state& t, std::int64_t now_ns) noexcept {
  constexpr std::int64_t pays_alone_ns = 150;
  constexpr std::int64_t pays_alone_costs = 2;
  constexpr std::int64_t pays_ns = 1200;
  constexpr std::int64_t pays_costs = 12;
  if (t.stole_at_ns != 0) {
    const std::int64_t cost = t.theft_cost.typical_ns();
    const std::int64_t pays =
        t.in->searchers() > 1 ? std::max(pays_ns, pays_costs * cost) : std::max(pays_alone_ns, pays_alone_costs * cost);
    t.shyness = gained_ns(t, now_ns) < pays ? std::min(t.shyness + 1, shyness_max) : 0;
    t.stole_at_ns = 0;
  }
}

/// The stolen task knows that it would have been done as fast where it was.
inline void regret_theft(thread_state& t) noexcept {
  if (t.stole_at_ns != 0) {
    t.shyness = std::min(t.shyness + 1, shyness_max);
    t.stole_at_ns = 0;
  }
}

/// What a thief of that shyness may take in that round of its search. A look at a deque costs its owner, too, since its
/// next push must fetch the line back: a shy one looks less often, too.
inline theft theft_in(unsigned round, unsigned shyness) noexcept {
  constexpr unsigned none_rounds = 4;
  constexpr unsigned very_shy = 8;
  const unsigned rounds_a_look = shyness / 2;
  if (round >= shyness) {
    return theft::any;
  }
  if (round < none_rounds || (shyness > very_shy && round % rounds_a_look != 0)) {
    return theft::none;
  }
  return theft::from_rich;
}

}  // namespace homing::scheduler
