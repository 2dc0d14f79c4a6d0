#include "runtime/stack/stack_switching.hpp"

#include "platform/check.hpp"
#include "runtime/arena/arena.hpp"
#include "runtime/arena/arena_access.hpp"
#include "runtime/stack/coroutine.hpp"
#include "runtime/thread/traced_scope.hpp"

namespace homing::scheduler {
namespace {

/// [U5] The stack goes on when its context is empty, or for a task that nobody else would run: whoever calls first.
void leave_waiting(suspend_point& left, const wait_context* wait, const search_scope& scope) noexcept {
  if (wait == nullptr) {
    left.resume();  // it only helps, and goes on when others have had their turn
    return;
  }
  arena& a = *left.in;
  const domain_index home = left.disp->thread->domain;  // now: once it may be called, the stack is not ours to look at
  a.add_reference();                                    // the stack may go on and end before the last look at its arena
  left.hold();                                          // it stays where it is until both looks are done
  left.napping.scope = scope;
  left.napping.stack = &left;
  left.waiting.address = reinterpret_cast<std::uintptr_t>(wait);
  left.waiting.stack = &left;
  a.asleep().add(left.napping);
  waiting_threads.add(left.waiting);
  a.ask_for_forks();
  sync::heavy_fence();  // [S1] listed before the last look
  const bool over = !arena_access::is_waited_for(*wait);
  const bool has_task = a.has_task(scope, home);  // stacks are taken by threads, never by a stack [U8]
  if (over || !left.let_call()) {
    left.resume();  // somebody called while we held it, or would have, had it been listed
  } else if (has_task) {
    a.call_for_work_left(home);
  }
  a.drop_reference();
}

/// The stack goes on: it takes itself off both lists. Its thread is in the arena, which lives on without its reference.
leave_result wait_no_longer(suspend_point& p, arena& a, const wait_context* wait) noexcept {
  leave_result how = leave_result::over;
  if (wait != nullptr) {
    how = a.asleep().remove(p.napping) ? leave_result::called : leave_result::over;
    waiting_threads.remove(p.waiting);
  }
  a.drop_reference();
  return how;
}

}  // namespace

/// [U2] What was asked for when the last stack was left is done from the next one: only now is the old one whole.
void finish_switch(thread_state& t) {
  const after_switch_action action = std::exchange(t.after_switch, {});
  switch (action.what) {
    case after_switch_action::kind::nothing:
      break;
    case after_switch_action::kind::let_resume:
      action.left->suspended();
      break;
    case after_switch_action::kind::recycle:
      coroutine::give_back(*action.left->owner);
      break;
    case after_switch_action::kind::wait_for:
      leave_waiting(*action.left, static_cast<const wait_context*>(action.wait), action.scope);
      break;
  }
}

/// Returns when somebody has switched back to `from`.
void switch_stacks(thread_state& t, suspend_point& from, suspend_point& to, const after_switch_action& after) {
  platform::require(t.after_switch.what == after_switch_action::kind::nothing,
                    "U2: what was asked for when the last stack was left has been done");
  t.after_switch = after;
  t.after_switch.left = &from;
  const unsigned unjoined = t.unjoined_forks.exchange(0, sync::relaxed);  // no thief changes it now [F7]
  if (to.owner == nullptr) {
    to.recalled.store(false,
                      sync::relaxed);  // the owner is this thread: nobody else reads it until it is suspended anew
  }
  to.disp->thread = &t;
  t.running = to.disp;
  traced_scope* const traced = traced_scope::leave(t);
  from.stack.switch_to(to.stack);
  thread_state& now = *from.disp->thread;
  now.unjoined_forks.store(unjoined, sync::relaxed);
  finish_switch(now);
  traced_scope::go_on(now, traced);
}

namespace {

/// [U9] The arena outlives what is left in it. The stack goes on in that arena: its resume task lay there.
leave_result leave_coroutine(thread_state& t, suspend_point& from, suspend_point& to, wait_context* wait,
                             const search_scope& scope) noexcept {
  arena& a = *t.in;
  a.add_reference();
  from.in = &a;
  switch_stacks(t, from, to, {.what = after_switch_action::kind::wait_for, .wait = wait, .scope = scope});
  return wait_no_longer(from, a, wait);
}

}  // namespace

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

}  // namespace homing::scheduler
