/// The thread's own deque: its next task (rule 3 of TBB-NUMA's figures 5 and 7), and room for those that it has taken
/// elsewhere.
///
/// Threads: the calling thread, in its arena's slot.
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/task/task_proxy.hpp"

namespace homing::scheduler {

/// Of take_own(), what is done apart.
[[nodiscard, gnu::noinline]] task* take_own_from_below(thread_state& t, isolation_tag isolation);
/// The task behind a proxy from the own deque, or null if it was taken at its other place.
[[nodiscard, gnu::noinline]] task* take_own_mailed(thread_state& t, const sync::deque_item& taken) noexcept;

/// A task of the own deque (rule 3), or null.
[[nodiscard, gnu::always_inline]] inline task* take_own(thread_state& t, isolation_tag isolation) {
  const sync::deque_item newest =
      t.slot->tasks.pop_newest([isolation](std::uint64_t tag) { return tag_fits(tag, isolation); });
  if (__builtin_expect(newest.item == 0, false)) {
    return take_own_from_below(t, isolation);
  }
  if (__builtin_expect(is_proxy(newest.item), false)) {
    task* const mailed = take_own_mailed(t, newest);
    return mailed != nullptr ? mailed : take_own_from_below(t, isolation);
  }
  return as_task(newest.item);
}

/// Puts a task into the own deque, or to the overflowed ones where that has no room and there is no memory for more.
inline void keep(thread_state& t, task& work, std::uint64_t tag) {
  if (__builtin_expect(!t.slot->tasks.try_push(as_item(work), tag), false)) {
    t.in->overflow(work);
  }
}

/// What was taken elsewhere and is not run at once goes into the own deque, as if it had been spawned here.
void keep_as_spawned(thread_state& t, task& taken) noexcept;

/// Puts a stolen task or mail to the overflowed ones, where others look first: the thread must leave, and knows that
/// only now. [A12]
void put_back(thread_state& t, task& found) noexcept;

/// Makes room for one more task in the own deque; false if there is no memory for that.
[[nodiscard]] bool has_room(thread_state& t) noexcept;

/// The task behind an item, or null if the item was a proxy whose task has been taken at its other place.
[[nodiscard]] inline task* unwrap(thread_state& t, std::uintptr_t item) noexcept {
  return is_proxy(item) ? as_proxy(item)->take(*t.pool) : as_task(item);
}

/// What was taken by its tag must be verified: the entry may have been reused between the look and the claim. A task of
/// another isolation is kept, for which has_room() was asked before; null then.
[[nodiscard]] task* verified(thread_state& t, task* taken, isolation_tag isolation) noexcept;

}  // namespace homing::scheduler
