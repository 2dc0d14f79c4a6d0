#include "runtime/suspend.hpp"

#include "runtime/arena_access.hpp"
#include "runtime/control.hpp"
#include "runtime/coroutine.hpp"
#include "runtime/dispatch_loop.hpp"

namespace homing::scheduler {
namespace {

suspend_point& base_point(thread_state& t) { return point_of(*t.slot->base); }

/// [U5] The stack goes on when its context is empty, or for a task that nobody else would run: whoever calls first.
void leave_waiting(suspend_point& left, const wait_context* wait, const search_scope& scope) noexcept {
  if (wait == nullptr) {
    resume(left);  // it only helps, and goes on when others have had their turn
    return;
  }
  using state = suspend_point::call_state;
  arena& a = *left.in;
  const unsigned home =
      left.disp->thread->domain;                   // now: once it may be called, the stack is no longer ours to look at
  a.add_reference();                               // the stack may go on and end before the last look at its arena
  left.call_is.store(state::held, sync::relaxed);  // it stays where it is until both looks are done
  left.napping = {nullptr, scope, &left};
  left.waiting.address = reinterpret_cast<std::uintptr_t>(wait);
  left.waiting.point = &left;
  a.sleep_begin(left.napping);
  waiting_threads.add(left.waiting);
  sync::heavy_fence();  // [S1] listed before the last look
  const bool over = !arena_access::is_waited_for(*wait);
  const bool has_task = a.has_task(scope, home);  // stacks are taken by threads, never by a stack [U8]
  auto held = state::held;
  if (over || !left.call_is.compare_exchange_strong(held, state::open, sync::acq_rel, sync::acquire)) {
    resume(left);  // somebody called while we held it, or would have, had it been listed
  } else if (has_task) {
    a.call_for_work_left(home);
  }
  a.drop_reference();
}

/// The stack goes on: it takes itself off both lists. Its thread is in the arena, which lives on without its reference.
leave_result wait_no_longer(suspend_point& p, arena& a, const wait_context* wait) noexcept {
  leave_result how = leave_result::over;
  if (wait != nullptr) {
    how = a.sleep_end(p.napping) ? leave_result::called : leave_result::over;
    waiting_threads.remove(p.waiting);
  }
  a.drop_reference();
  return how;
}

/// [U2] What was asked for when the last stack was left is done from the next one: only now is the old one whole.
void finish_switch(thread_state& t) {
  const after_switch_action action = std::exchange(t.after_switch, {});
  switch (action.what) {
    case after_switch_action::kind::nothing:
      break;
    case after_switch_action::kind::call_back:
      action.callback(action.argument, reinterpret_cast<tbb::detail::r1::suspend_point_type*>(action.left));
      break;
    case after_switch_action::kind::recycle:
      coroutine::give_back(*action.left->owner);
      break;
    case after_switch_action::kind::wait_for:
      leave_waiting(*action.left, static_cast<const wait_context*>(action.argument), action.scope);
      break;
  }
}

/// Returns when somebody has switched back to `from`.
void switch_stacks(thread_state& t, suspend_point& from, suspend_point& to, const after_switch_action& after) {
  t.after_switch = after;
  t.after_switch.left = &from;
  if (to.owner == nullptr) {
    to.recalled.store(false,
                      sync::relaxed);  // the owner is this thread: nobody else reads it until it is suspended anew
  }
  to.disp->thread = &t;
  t.running = to.disp;
  from.stack.switch_to(to.stack);
  finish_switch(*from.disp->thread);
}

/// [U9] The arena outlives what is left in it. The stack goes on in that arena: its resume task lay there.
leave_result leave_coroutine(thread_state& t, suspend_point& from, suspend_point& to, wait_context* wait,
                             const search_scope& scope) noexcept {
  arena& a = *t.in;
  a.add_reference();
  from.in = &a;
  switch_stacks(t, from, to, {after_switch_action::kind::wait_for, nullptr, wait, nullptr, scope});
  return wait_no_longer(from, a, wait);
}

}  // namespace

suspend_point& point_of(dispatcher& d, coroutine* owner) noexcept {
  static_assert(sizeof(suspend_point) <= dispatcher::point_bytes && alignof(suspend_point) <= 64);
  if (d.point == nullptr) {
    d.point = new (static_cast<void*>(d.point_storage)) suspend_point(d, owner);
  }
  return *d.point;
}

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

void suspend(thread_state& t, suspend_callback callback, void* argument) {
  suspend_point& from = point_of(*t.running);
  arena& a = *t.in;
  suspend_point* to = nullptr;
  if (base_is_recalled(t)) {
    to = &base_point(t);
  } else {
    coroutine& c = coroutine::acquire(thread_stack_size(), &coroutine_main);
    to = &point_of(c.disp);
  }
  // [U1] The arena outlives what is suspended in it, even if everybody leaves.
  a.add_reference();
  from.in = &a;
  switch_stacks(t, from, *to, {after_switch_action::kind::call_back, callback, argument, nullptr, {}});
  a.drop_reference();
}

void resume(suspend_point& point) noexcept {
  if (point.owner == nullptr) {
    thread_state* owner = point.disp->thread;
    // [U3] seq_cst: recalled before the token; the owner looks at recalled after it has announced its sleep.
    point.recalled.store(true, sync::seq_cst);
    owner->parker.unpark();
    return;
  }
  arena& a = *point.in;
  a.add_reference();  // [U4] the stack may run to its end, and its arena with it, before the push returns
  a.submit_resume(point);
  a.drop_reference();
}

leave_result run_resume_task(thread_state& t, task& work, wait_context* wait, const search_scope& scope) noexcept {
  suspend_point& to = static_cast<resume_task&>(work).point;
  suspend_point& from = point_of(*t.running);
  if (from.owner == nullptr) {
    from.recalled.store(true, sync::relaxed);  // whoever we switch to comes back as soon as it can
    switch_stacks(t, from, to, {});
    return leave_result::over;
  }
  return leave_coroutine(t, from, to, wait, scope);
}

leave_result yield_until_empty(thread_state& t, wait_context& wait, const search_scope& scope) noexcept {
  return leave_coroutine(t, point_of(*t.running), base_point(t), &wait, scope);
}

void coroutine_main(void* raw) {
  auto& c = *static_cast<coroutine*>(raw);
  for (;;) {
    thread_state& begun = *c.disp.thread;
    c.disp.ed.context = &begun.in->default_context();
    c.disp.ed.original_slot = begun.slot_number;
    c.disp.ed.affinity_slot = no_slot;
    c.disp.isolation = no_isolation;
    c.disp.outermost = true;
    c.disp.critical_allowed = true;
    c.disp.enqueued_allowed = true;
    c.disp.current = nullptr;
    finish_switch(begun);
    task* next = dispatch_on_coroutine(c.disp);
    thread_state& t = *c.disp.thread;
    // [U6] Nothing on this stack is worth coming back to: on to the resumed one, or to the base that may go on.
    suspend_point& to = next != nullptr ? static_cast<resume_task*>(next)->point : base_point(t);
    // Not switch_stacks(): this stack is given away, and whoever takes it starts at the top of this loop.
    t.after_switch = {after_switch_action::kind::recycle, nullptr, nullptr, &point_of(c.disp), {}};
    if (to.owner == nullptr) {
      to.recalled.store(false, sync::relaxed);
    }
    to.disp->thread = &t;
    t.running = to.disp;
    c.disp.point->stack.switch_to(to.stack);
  }
}

}  // namespace homing::scheduler
