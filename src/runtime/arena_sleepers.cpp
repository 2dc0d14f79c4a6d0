/// Who waits inside an arena: threads asleep in a wait, stacks that were left in one, threads that need a slot.
///
/// Protocols: docs/protocols/sleep.md [S1], [S4], arena.md [A2], suspend.md [U5].
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

bool arena::wake_sleeper(isolation_tag isolation, unsigned home, reach who) noexcept {
  const auto may_take = [&](const sleeper& s) {
    if (who == reach::home && s.thread != nullptr && s.thread->domain != home) {
      return false;
    }
    return s.isolation == no_isolation || s.isolation == isolation || isolation == any_isolation ||
           (isolation == isolation_of_the_work &&
            has_work(s.isolation, s.thread != nullptr ? s.thread->domain : anybody));
  };
  thread_state* chosen = nullptr;
  suspend_point* stack = nullptr;
  {
    const sync::scoped_spin_lock hold(sleepers_lock_);
    sleeper* best = nullptr;
    sleeper* left = nullptr;  // a stack that has no thread: only if no thread will do, and not for another stack's sake
    for (sleeper* s = first_sleeper_; s != nullptr; s = s->next) {
      if (s->point != nullptr) {
        left = isolation != any_isolation && may_take(*s) && has_task(s->isolation, anybody) ? s : left;  // [U8]
      } else if (may_take(*s) && (best == nullptr || (s->thread->domain == home && best->thread->domain != home))) {
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
      stack = left->point->call() ? left->point : nullptr;  // [U5] else its wait is over, and it goes on anyway
    } else {
      chosen = best->thread;
    }
    if (best != nullptr && best->isolation == no_isolation) {
      // It counts as searching from now on, so that the next push does not wake a second one. [S4]
      searchers_.fetch_add(1, sync::relaxed);
      domains_[chosen->domain].searchers.fetch_add(1, sync::relaxed);
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
