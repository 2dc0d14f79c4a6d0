#include "runtime/dispatch/suspend.hpp"

#include <memory>

#include "runtime/arena/arena.hpp"
#include "runtime/dispatch/dispatch_loop.hpp"
#include "runtime/dispatch/forks.hpp"
#include "runtime/settings/control.hpp"
#include "runtime/stack/coroutine.hpp"
#include "runtime/stack/stack_switching.hpp"

namespace homing::scheduler {
namespace {

/// What a coroutine runs: dispatches, leaves for another stack, and starts over when it is taken from the cache.
[[noreturn]] void coroutine_main(void* raw) {
  auto& c = *static_cast<coroutine*>(raw);
  for (;;) {
    thread_state& begun = *c.disp.thread;
    c.disp.ed.context = &begun.in->default_context();
    c.disp.ed.original_slot = to_index(begun.slot_number);
    c.disp.ed.affinity_slot = to_number(no_affinity);
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
    t.after_switch = {.what = after_switch_action::kind::recycle, .left = &point_of(c.disp)};
    if (to.owner == nullptr) {
      to.recalled.store(false, sync::relaxed);
    }
    to.disp->thread = &t;
    t.running = to.disp;
    c.disp.point->stack.switch_to(to.stack);
  }
}

/// A stack to go on with, given back if it is not needed.
struct back_to_cache {
  void operator()(coroutine* c) const noexcept { coroutine::give_back(*c); }
};
using spare_stack = std::unique_ptr<coroutine, back_to_cache>;

}  // namespace

void suspend(thread_state& t, suspend_callback callback, void* argument) {
  const forks_left_aside aside(t);
  suspend_point& from = point_of(*t.running);
  spare_stack spare(&coroutine::acquire(thread_stack_size(), &coroutine_main));  // now: once told, it can't fail
  const int ended_early = from.ended_early();
  try {
    callback(argument, reinterpret_cast<tbb::detail::r1::suspend_point_type*>(&from));
  } catch (...) {
    from.withdraw_suspension(ended_early);
    throw;
  }
  thread_state& now = *from.disp->thread;  // the callback may have waited, and its stack have moved meanwhile
  arena& a = *now.in;
  suspend_point& to = base_is_recalled(now) ? base_point(now) : point_of(spare.release()->disp);
  // [U1] The arena outlives what is suspended in it, even if everybody leaves.
  a.add_reference();
  from.in = &a;
  switch_stacks(now, from, to, {.what = after_switch_action::kind::let_resume});
  a.drop_reference();
}

}  // namespace homing::scheduler
