#include "runtime/arena/sleepers.hpp"

#include "platform/check.hpp"

namespace homing::scheduler {

void sleepers::add(sleeper& s) noexcept {
  const sync::scoped_spin_lock hold(lock_);
  sleeping_.push_front(s);
  count_.fetch_add(1, sync::relaxed);
}

/// Under the lock.
void sleepers::unlist(sleeper& s) noexcept {
  sleeping_.remove(s);
  platform::require(count_.fetch_sub(1, sync::relaxed) > 0, "S1: each sleeper on the list is counted");
}

bool sleepers::remove(sleeper& s) noexcept {
  const sync::scoped_spin_lock hold(lock_);
  if (!s.listed) {
    return true;
  }
  unlist(s);
  return false;
}

void sleepers::wait_for_slot(sleeper& s) noexcept {
  const sync::scoped_spin_lock hold(lock_);
  if (!s.listed) {
    slot_waiters_.push_front(s);
    slot_waiter_count_.fetch_add(1, sync::relaxed);
  }
}

void sleepers::stop_waiting_for_slot(sleeper& s) noexcept {
  {
    const sync::scoped_spin_lock hold(lock_);
    if (s.listed) {
      slot_waiters_.remove(s);
      platform::require(slot_waiter_count_.fetch_sub(1, sync::relaxed) > 0, "A2: who waits for a slot is counted");
      return;
    }
  }
  call_for_slot();
}

void sleepers::call_for_slot() noexcept {
  thread_state* called = nullptr;
  {
    const sync::scoped_spin_lock hold(lock_);
    const sleeper* first = slot_waiters_.pop_front();
    if (first == nullptr) {
      return;
    }
    called = first->thread;
    platform::require(slot_waiter_count_.fetch_sub(1, sync::relaxed) > 0, "A2: who waits for a slot is counted");
  }
  called->parker.unpark();
}

/// Whether the sleeper, a thread or a stack, could take what it would be called for.
bool sleepers::suits(const sleeper& s, const work_call& call, reach who) noexcept {
  const bool is_stack = s.stack != nullptr;
  if (who == reach::home && !is_stack && s.thread->domain != call.home) {
    return false;
  }
  const search_scope& scope = s.scope;
  const domain_index domain = is_stack ? work_places::anybody : s.thread->domain;
  switch (call.kind) {
    case work_kind::spawned:
      return scope.may_steal && scope.fits(call.isolation);
    case work_kind::mailed:
      return scope.fits(call.isolation) && (scope.may_steal || domain == call.home);
    case work_kind::detached:
      return scope.isolation == no_isolation;
    case work_kind::enqueued:
      return scope.isolation == no_isolation && scope.takes_enqueued;
    case work_kind::critical:
      return scope.takes_critical && scope.fits(call.isolation);
    case work_kind::resumed:
      return !is_stack;  // [U8]
    case work_kind::unknown:
      return is_stack ? places_.has_task(scope, domain) : places_.has_work(scope, domain);
  }
  return false;
}

/// A thread, one of the work's home if there is such a one; a stack, which has no thread, only if no thread will do,
/// and not for another stack's sake. Under the lock.
sleeper* sleepers::choose(const work_call& call, reach who) noexcept {
  sleeper* best = nullptr;
  sleeper* left = nullptr;
  for (sleeper* s = sleeping_.first(); s != nullptr; s = s->next) {
    if (s->stack != nullptr) {
      left = suits(*s, call, who) && places_.has_task(s->scope, call.home) ? s : left;
    } else if ((best == nullptr || (s->thread->domain == call.home && best->thread->domain != call.home)) &&
               suits(*s, call, who)) {
      best = s;
    }
  }
  return best != nullptr ? best : left;
}

bool sleepers::wake(const work_call& call, reach who) noexcept {
  thread_state* thread = nullptr;
  left_stack* stack = nullptr;
  {
    const sync::scoped_spin_lock hold(lock_);
    sleeper* const chosen = choose(call, who);
    if (chosen == nullptr) {
      return false;
    }
    unlist(*chosen);
    thread = chosen->thread;
    if (thread == nullptr) {
      // [U5] Else its wait is over: it goes on anyway, and hands the call on. [S13]
      stack = chosen->stack->call() ? chosen->stack : nullptr;
    } else if (chosen->scope.is_counted()) {
      searchers_.transfer_to(thread->domain, chosen->scope);
    }
  }
  if (thread != nullptr) {
    thread->parker.unpark();
  } else if (stack != nullptr) {
    stack->resume();
  }
  return true;
}

void sleepers::have_all_look() noexcept {
  if (!any() && !any_for_slot()) {
    return;
  }
  const sync::scoped_spin_lock hold(lock_);
  for (const sync::linked_list<sleeper>* list : {&sleeping_, &slot_waiters_}) {
    for (const sleeper* s = list->first(); s != nullptr; s = s->next) {
      if (s->thread != nullptr) {
        s->thread->parker.unpark();
      }
    }
  }
}

void sleepers::forget_threads_after_fork() noexcept {
  slot_waiters_.forget();
  slot_waiter_count_.store(0, sync::relaxed);
  for (sleeper* s = sleeping_.first(); s != nullptr;) {
    sleeper* const next = s->next;
    if (s->stack == nullptr) {
      unlist(*s);
    }
    s = next;
  }
}

}  // namespace homing::scheduler
