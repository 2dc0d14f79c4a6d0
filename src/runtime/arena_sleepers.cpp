/// Who waits inside an arena: threads asleep in a wait, stacks that were left in one, threads that need a slot.
///
/// Protocols: docs/protocols/sleep.md [S1], [S4], [S13], arena.md [A2], suspend.md [U5].
#include "runtime/arena.hpp"
#include "runtime/suspend.hpp"

namespace homing::scheduler {
namespace {

void link_first(sleeper& s, sleeper*& first) noexcept {
  s.listed = true;
  s.next = first;
  s.previous = nullptr;
  if (first != nullptr) {
    first->previous = &s;
  }
  first = &s;
}

void unlink(sleeper& s, sleeper*& first) noexcept {
  (s.previous != nullptr ? s.previous->next : first) = s.next;
  if (s.next != nullptr) {
    s.next->previous = s.previous;
  }
  s.listed = false;
}

}  // namespace

void arena::sleep_begin(sleeper& s) noexcept {
  const sync::scoped_spin_lock hold(sleepers_lock_);
  link_first(s, first_sleeper_);
  sleepers_.fetch_add(1, sync::relaxed);
}

bool arena::sleep_end(sleeper& s) noexcept {
  const sync::scoped_spin_lock hold(sleepers_lock_);
  if (!s.listed) {
    return true;
  }
  unlink(s, first_sleeper_);
  sleepers_.fetch_sub(1, sync::relaxed);
  return false;
}

void arena::wait_for_slot(sleeper& s) noexcept {
  const sync::scoped_spin_lock hold(sleepers_lock_);
  if (!s.listed) {
    link_first(s, first_slot_waiter_);
    slot_waiters_.fetch_add(1, sync::relaxed);
  }
}

void arena::stop_waiting_for_slot(sleeper& s) noexcept {
  {
    const sync::scoped_spin_lock hold(sleepers_lock_);
    if (s.listed) {
      unlink(s, first_slot_waiter_);
      slot_waiters_.fetch_sub(1, sync::relaxed);
      return;
    }
  }
  call_slot_waiter();
}

void arena::call_slot_waiter() noexcept {
  thread_state* called = nullptr;
  {
    const sync::scoped_spin_lock hold(sleepers_lock_);
    if (first_slot_waiter_ == nullptr) {
      return;
    }
    called = first_slot_waiter_->thread;
    unlink(*first_slot_waiter_, first_slot_waiter_);
    slot_waiters_.fetch_sub(1, sync::relaxed);
  }
  called->parker.unpark();
}

/// Whether the sleeper, a thread or a stack, could take what it would be called for.
bool arena::suits(const sleeper& s, const work_call& call, reach who) noexcept {
  const bool is_stack = s.point != nullptr;
  if (who == reach::home && !is_stack && s.thread->domain != call.home) {
    return false;
  }
  const search_scope& scope = s.scope;
  const unsigned domain = is_stack ? anybody : s.thread->domain;
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
      return is_stack ? has_task(scope, domain) : has_work(scope, domain);
  }
  return false;
}

bool arena::wake_sleeper(const work_call& call, reach who) noexcept {
  thread_state* chosen = nullptr;
  suspend_point* stack = nullptr;
  {
    const sync::scoped_spin_lock hold(sleepers_lock_);
    sleeper* best = nullptr;
    sleeper* left = nullptr;  // a stack that has no thread: only if no thread will do, and not for another stack's sake
    for (sleeper* s = first_sleeper_; s != nullptr; s = s->next) {
      if (s->point != nullptr) {
        left = suits(*s, call, who) && has_task(s->scope, call.home) ? s : left;
      } else if ((best == nullptr || (s->thread->domain == call.home && best->thread->domain != call.home)) &&
                 suits(*s, call, who)) {
        best = s;
      }
    }
    if (best == nullptr && left == nullptr) {
      return false;
    }
    sleeper& s = best != nullptr ? *best : *left;
    unlink(s, first_sleeper_);
    sleepers_.fetch_sub(1, sync::relaxed);
    if (best == nullptr) {
      // [U5] Else its wait is over: it goes on anyway, and hands the call on. [S13]
      stack = left->point->call() ? left->point : nullptr;
    } else {
      chosen = best->thread;
    }
    if (best != nullptr && best->scope.is_counted()) {
      // It counts as searching from now on, so that the next push does not wake a second one. [S4]
      searchers_.fetch_add(weight_of(best->scope), sync::relaxed);
      domains_[chosen->domain].searchers.fetch_add(weight_of(best->scope), sync::relaxed);
    }
  }
  if (chosen != nullptr) {
    chosen->parker.unpark();
  } else if (stack != nullptr) {
    resume(*stack);
  }
  return true;
}

}  // namespace homing::scheduler
