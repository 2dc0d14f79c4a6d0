/// Who waits in an arena: threads asleep in a wait, stacks that were left in one, threads that need a slot.
///
/// Ownership: entries are their threads', on their stacks, or a left stack's.
/// Threads:   any.
/// Protocols: docs/protocols/sleep.md [S1], [S4], [S13], arena.md [A2], [A15], suspend.md [U5], [U8].
#pragma once

#include "runtime/arena/searchers.hpp"
#include "runtime/task/left_stack.hpp"
#include "sync/linked_list.hpp"
#include "sync/spin_lock.hpp"

namespace homing::scheduler {

/// A thread asleep in a wait inside the arena; lives on that thread's stack. Or a stack that was left in a wait, which
/// any thread may go on with.
struct sleeper : sync::list_hook<sleeper> {
  sleeper() noexcept = default;
  explicit sleeper(thread_state& t, const search_scope& s = {}) noexcept : thread(&t), scope(s) {}
  sleeper(left_stack& left, const search_scope& s) noexcept : scope(s), stack(&left) {}

  thread_state* thread = nullptr;
  search_scope scope{};
  left_stack* stack = nullptr;  ///< there is no thread then
};

class sleepers {
 public:
  sleepers(work_places& places, searchers& counts) noexcept : places_(places), searchers_(counts) {}

  /// Threads and stacks in waits; a hint.
  [[nodiscard]] bool any() const noexcept { return count_.load(sync::relaxed) != 0; }
  void add(sleeper& s) noexcept;
  /// Takes the sleeper off the list; true if a waker had done so (and counted it as searching).
  bool remove(sleeper& s) noexcept;
  /// Wakes one that could take what it is called for; false if there is none.
  [[nodiscard]] bool wake(const work_call& call, reach who) noexcept;

  /// Lists an application thread that needs a slot (again, if it was taken off the list to try). [A2]
  void wait_for_slot(sleeper& s) noexcept;
  /// Takes it off; if it had been called for a free slot, the next one is called: it may have no use for it.
  void stop_waiting_for_slot(sleeper& s) noexcept;
  [[nodiscard]] bool any_for_slot() const noexcept { return slot_waiter_count_.load(sync::relaxed) != 0; }
  void call_for_slot() noexcept;

  /// Wakes all threads here, each for a look of its own: they stay on the lists. [A15]
  void have_all_look() noexcept;

  // Around a fork. In the child no thread sleeps here; left stacks are still there.
  void lock_for_fork() noexcept { lock_.lock(); }
  void unlock_after_fork() noexcept { lock_.unlock(); }
  void forget_threads_after_fork() noexcept;

 private:
  void unlist(sleeper& s) noexcept;
  [[nodiscard]] bool suits(const sleeper& s, const work_call& call, reach who) noexcept;
  [[nodiscard]] sleeper* choose(const work_call& call, reach who) noexcept;

  work_places& places_;
  searchers& searchers_;
  sync::spin_lock lock_;
  sync::atomic<int> count_{0};
  sync::atomic<int> slot_waiter_count_{0};
  sync::linked_list<sleeper> sleeping_;
  sync::linked_list<sleeper> slot_waiters_;
};

}  // namespace homing::scheduler
