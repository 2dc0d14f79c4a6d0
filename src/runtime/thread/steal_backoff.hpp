/// How soon a thread steals again, and how many tasks at once, by what its last steals won and cost.
///
/// A thief whose steal won less time than it cost has only carried its victim's tasks to another cache, and will soon
/// lose them to a thief in turn. So it backs off: with each such steal it looks one round longer before it steals
/// again, and longest before it takes the only task of a deque. A chain of small tasks stays where it is, then. Where
/// others search too, nobody misses the steal, and it must win more. It must win yet more where threads share CPUs: a
/// thief may lose its CPU with the task. Where lines travel slowly between CPUs, a steal must win more, too: the floors
/// are multiples of a steal's cost where it was cheap.
///
/// A victim that has not touched its deque from the first of several steals to the last one's end is busy with
/// something else, or waits for what lies there: nothing was taken from it that it would have done soon.
///
/// Where a thread has spawned thousands of small tasks, no steal of one pays. So a steal that did not pay lets the next
/// one take twice as many, and one that paid well half as many. There must be many in sight [D11]:
/// of the tasks that a divided range leaves, large ones and small ones, two at once would be one too many.
///
/// Threads: its thread's own.
/// Source:  the constants are measured: `make bench` (pipeline/light, flow/ping_pong, flow/wide, uts/binomial and
/// few_tasks/behind_300ns, on more threads than CPUs).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/task/task_access.hpp"

namespace homing::scheduler {

/// From which deques a thread steals in a round of its search.
enum class victims : std::uint8_t { none, with_several_tasks, any };

/// What company a thief has when its steal is judged; the last: several, in an arena with more threads than CPUs.
enum class thief_is : std::uint8_t { alone, one_of_several, without_own_cpu };

class steal_backoff {
 public:
  // ---- what happened

  /// A steal is tried at that time. The clock costs a fifth of a steal: asked for one in four.
  [[nodiscard]] bool times_next_steal() const noexcept { return cost_.is_due(); }
  static constexpr std::uint64_t not_known = 0;  ///< for a state
  /// Whether it is of use to know the state of the next victim's deque: a look at it costs its owner, too.
  [[nodiscard]] bool backs_off() const noexcept { return rounds_ > 0; }
  /// It succeeded: from `victim`, at that time. `began_ns`: if it was timed. `owners_state`: of the victim's deque,
  /// which only its owner changes.
  void has_stolen(slot_id victim, std::uint64_t owners_state, std::int64_t began_ns, std::int64_t now_ns) noexcept {
    if (victim != victim_ || owners_state != owners_state_) {
      victim_ = victim;
      owners_state_ = owners_state;
      steals_unnoticed_ = 0;
    }
    stole_at_ns_ = now_ns;
    cost_.add(began_ns, now_ns);
  }
  /// The stolen task knows that it would have been done as fast where it was.
  void regret() noexcept {
    if (stole_at_ns_ != 0) {
      back_off();
      stole_at_ns_ = 0;
    }
  }
  /// Whom the last steal took from, if it was not judged yet.
  [[nodiscard]] std::optional<slot_id> victim_to_judge() const noexcept {
    return stole_at_ns_ != 0 ? std::optional(victim_) : std::nullopt;
  }
  /// Whether judge() is to know its victim's state again.
  [[nodiscard]] bool knows_owners_state() const noexcept { return owners_state_ != not_known; }
  /// The thread is out of work: what did the last steal win? The time since it, less what its victim could not have
  /// worked in it: that ran dry at `victim_dry_ns` last, if that is known.
  void judge(std::int64_t now_ns, std::optional<std::int64_t> victim_dry_ns, std::uint64_t owners_state,
             thief_is who) noexcept {
    constexpr std::int64_t pays_alone_ns = 150;
    constexpr std::int64_t pays_alone_costs = 2;
    constexpr std::int64_t pays_ns = 1200;
    const std::int64_t pays_costs = who == thief_is::one_of_several ? 3 : 12;
    constexpr std::int64_t pays_well = 8;
    constexpr unsigned owner_is_busy = 3;  // one, two: its own task is as long as the thief's
    steals_unnoticed_ = knows_owners_state() && owners_state == owners_state_ ? steals_unnoticed_ + 1 : 0;
    std::int64_t until_ns = now_ns;
    if (victim_dry_ns && *victim_dry_ns > stole_at_ns_) {
      until_ns = std::min(until_ns, *victim_dry_ns);
    }
    const std::int64_t cost = cost_.typical_ns();
    const std::int64_t pays = who == thief_is::alone ? std::max(pays_alone_ns, pays_alone_costs * cost)
                                                     : std::max(pays_ns, pays_costs * cost);
    const std::int64_t won_ns = until_ns - stole_at_ns_;
    if (won_ns >= pays) {
      rounds_ = 0;
      if (won_ns > pays_well * pays) {
        tasks_ = std::max<std::size_t>(1, tasks_ / 2);
      }
    } else if (steals_unnoticed_ >= owner_is_busy) {
      rounds_ /= 2;
    } else {
      back_off();
      tasks_ = std::min(2 * tasks_, tasks_max);
    }
    stole_at_ns_ = 0;
  }

  // ---- what follows

  /// In that round of a search. A look at a deque costs its owner, too, since its next push must fetch the line back:
  /// who has backed off far looks less often, too.
  [[nodiscard]] victims in_round(unsigned round) const noexcept {
    constexpr unsigned none_rounds = 4;
    constexpr unsigned far = 8;
    const unsigned rounds_a_look = rounds_ / 2;
    if (round >= rounds_) {
      return victims::any;
    }
    if (round < none_rounds || (rounds_ > far && round % rounds_a_look != 0)) {
      return victims::none;
    }
    return victims::with_several_tasks;
  }
  /// A guess before the last task is judged: true if it was stolen, and not two steals in a row did not pay.
  [[nodiscard]] bool will_steal_at_once() const noexcept { return stole_at_ns_ != 0 && rounds_ <= 1; }
  /// By one steal, at most.
  [[nodiscard]] std::size_t tasks_at_once() const noexcept { return tasks_; }
  /// Of so many in sight, at most, behind the first: none of what a range leaves, however deep it is divided. Else its
  /// smallest tasks would lie below what its largest one spawns, and who waits for one of them, or for what it throws,
  /// would wait for all of that.
  [[nodiscard]] std::size_t more_at_once(std::size_t in_sight) const noexcept {
    return in_sight < more_than_any_range_leaves ? 0 : tasks_ - 1;
  }
  static constexpr std::size_t tasks_max = 32;
  /// Before a rest after so many rounds: no longer backs off. True if it did until now, and has not looked everywhere.
  [[nodiscard]] bool ends_at_rest(unsigned rounds) noexcept { return std::exchange(rounds_, 0) > rounds; }

 private:
  /// What a steal costs of late: lines travel between CPUs several times slower at one time than at another.
  class smoothed_cost {
   public:
    [[nodiscard]] bool is_due() const noexcept { return count_ % 4 == 0; }
    void add(std::int64_t began_ns, std::int64_t ended_ns) noexcept {
      if (is_due()) {
        constexpr std::int64_t outlier_ns = 2000;  // the thread was off its CPU
        sum_ns_ += std::min(ended_ns - began_ns, outlier_ns) - sum_ns_ / window;
      }
      ++count_;
    }
    [[nodiscard]] std::int64_t typical_ns() const noexcept { return sum_ns_ / window; }

   private:
    static constexpr std::int64_t window = 16;
    std::int64_t sum_ns_ = 0;
    unsigned count_ = 0;
  };

  static constexpr std::size_t more_than_any_range_leaves = std::numeric_limits<std::size_t>::digits;
  static constexpr unsigned rounds_max = 27;
  void back_off() noexcept { rounds_ = std::min(rounds_ + 1, rounds_max); }

  std::int64_t stole_at_ns_ = 0;            ///< when its last stolen task began; 0: that steal has been judged
  slot_id victim_ = no_slot;                ///< of that steal
  std::uint64_t owners_state_ = not_known;  ///< of its deque
  unsigned steals_unnoticed_ = 0;           ///< in a row, by an owner that did nothing in its deque meanwhile
  unsigned rounds_ = 0;                     ///< of a search, before it steals as it likes
  std::size_t tasks_ = 1;                   ///< at the next steal
  smoothed_cost cost_;
};

}  // namespace homing::scheduler
