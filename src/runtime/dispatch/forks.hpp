/// Fork and join: the library's side of what <homing/fork_join.hpp> does in line.
///
/// Threads:  the calling thread acts for itself.
/// Protocol: docs/protocols/fork_lane.md [F5], [F7].
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

/// Behind a push: room for the next one, or what was pushed last is its owner's alone.
void make_room_or_keep(lane& forks) noexcept;

/// [F5] The owner, in an arena, answers whoever has asked: gives its oldest private fork. False if the group of the
/// running task is cancelled.
[[nodiscard]] bool answer(thread_state& t, lane& forks) noexcept;

/// A branch that is in no lane becomes a task, for which the own deque has room. Null: there is no memory, and the
/// branch stays its owner's.
[[nodiscard]] task* make_task_of(thread_state& t, fork_branch& b) noexcept;

[[nodiscard]] inline bool group_is_cancelled(const thread_state& t) noexcept {
  return context_access::is_cancelled(*t.running->ed.context);
}

/// [F7] Gives away all that the calling stack has forked and not joined: nothing that is private lies below.
[[gnu::noinline]] void give_all_forks(thread_state& t) noexcept;

/// [F7] Where a thread goes on to other tasks, another region, arena or stack, and comes back, its private forks become
/// tasks; so at any time all private ones are of one arena, isolation and context, which are the thread's own.
///
/// Between the two the stack may have moved to another thread.
class forks_left_aside {
 public:
  explicit forks_left_aside(thread_state& t) noexcept : d_(t.running) {
    if (__builtin_expect(t.forks != nullptr, false) && !t.forks->is_clear()) {
      give_all_forks(t);
    }
  }
  ~forks_left_aside() {
    // [F5] A cancellation may have found the thread in another group, and its ask have been taken back.
    lane* const now = d_ != nullptr ? d_->thread->forks : nullptr;
    if (__builtin_expect(now != nullptr, false) && context_access::is_cancelled(*d_->ed.context)) {
      now->ask();
    }
  }
  forks_left_aside(const forks_left_aside&) = delete;
  forks_left_aside& operator=(const forks_left_aside&) = delete;

 private:
  dispatcher* d_;  ///< null outside of arenas
};

}  // namespace homing::scheduler
