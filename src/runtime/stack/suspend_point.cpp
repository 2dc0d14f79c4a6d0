#include "runtime/stack/suspend_point.hpp"

#include "runtime/arena/arena.hpp"

namespace homing::scheduler {

// acq_rel, both: whoever comes second goes on for the first one, with what that has written.

void suspend_point::end_suspension() noexcept {
  const int before = balance_.fetch_add(1, sync::acq_rel);
  if (before < 0) {
    resume();
  }
}

void suspend_point::suspended() noexcept {
  const int before = balance_.fetch_sub(1, sync::acq_rel);
  if (before > 0) {
    resume();
  }
}

void suspend_point::withdraw_suspension(int before) noexcept {
  // relaxed: nothing that a resumer wrote is used; its part ended with its addition.
  if (ended_early() > before) {
    balance_.fetch_sub(1, sync::relaxed);
  }
}

void suspend_point::resume() noexcept {
  if (owner == nullptr) {
    thread_state* const whose = disp->thread;
    // [U3] release: to the owner's look. Recalled before the token: an owner that looked before parks in vain.
    recalled.store(true, sync::release);
    whose->parker.unpark();
    return;
  }
  arena& a = *in;
  a.add_reference();  // [U4] the stack may run to its end, and its arena with it, before the push returns
  a.submit_resume(*this);
  a.drop_reference();
}

suspend_point& point_of(dispatcher& d, coroutine* owner) noexcept {
  static_assert(sizeof(suspend_point) <= dispatcher::point_bytes && alignof(suspend_point) <= 64);
  if (d.point == nullptr) {
    d.point = new (static_cast<void*>(d.point_storage)) suspend_point(d, owner);
  }
  return *d.point;
}

suspend_point& base_point(thread_state& t) noexcept { return point_of(*t.slot->base); }

void drop_suspend_point(dispatcher& d) noexcept {
  if (d.point != nullptr) {
    d.point->~suspend_point();
    d.point = nullptr;
  }
}

bool base_is_recalled(const thread_state& t) noexcept {
  if (t.running == t.slot->base) {
    return false;
  }
  const suspend_point* base = t.slot->base->point;
  // acquire: what the resumer did before [U3].
  return base != nullptr && base->recalled.load(sync::acquire);
}

}  // namespace homing::scheduler
