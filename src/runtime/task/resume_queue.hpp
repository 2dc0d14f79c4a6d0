/// Suspended stacks that may go on: linked through themselves, so that to resume one needs no memory.
///
/// Ownership: none; a stack lives until it has gone on.
/// Threads:   any.
/// Order:     first in, first out.
/// Errors:    none; never allocates.
/// Protocol:  docs/protocols/suspend.md [U4].
#pragma once

#include "runtime/task/left_stack.hpp"
#include "sync/atomic.hpp"
#include "sync/linked_list.hpp"
#include "sync/spin_lock.hpp"

namespace homing::scheduler {

class resume_queue {
 public:
  void push(left_stack& stack) noexcept;
  /// The oldest, or null.
  [[nodiscard]] left_stack* take() noexcept;
  /// A hint, exact once the pushing thread and this one have met a fence.
  [[nodiscard]] bool empty() const noexcept { return !any_.load(sync::relaxed); }

  // The child of a fork finds the queue whole.
  void lock_for_fork() noexcept { lock_.lock(); }
  void unlock_after_fork() noexcept { lock_.unlock(); }

 private:
  sync::spin_lock lock_;
  sync::atomic<bool> any_{false};  ///< written under the lock; relaxed: a hint for empty()
  sync::linked_list<left_stack> stacks_;
};

}  // namespace homing::scheduler
