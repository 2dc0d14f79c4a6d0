#include "runtime/dispatch.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include <oneapi/tbb/detail/_utils.h>
#include <oneapi/tbb/task_arena.h>

#include "platform/clock.hpp"
#include "platform/fp_settings.hpp"
#include "runtime/arena_access.hpp"
#include "runtime/control.hpp"
#include "runtime/dispatch_loop.hpp"
#include "runtime/observed_run.hpp"
#include "runtime/resource_manager.hpp"
#include "runtime/search_pace.hpp"
#include "runtime/suspend.hpp"
#include "runtime/task_source.hpp"
#include "runtime/wait_table.hpp"

namespace homing::scheduler {

void notify_waiters(std::uintptr_t address) noexcept { waiting_threads.notify(address); }

namespace {

enum class rest_result : std::uint8_t {
  look_again,
  called,  ///< the same, on behalf of whoever has called: the call is handed on if there is no use for it [S13]
  leave
};

/// Asleep in the arena until a waker, or `ready()`, says otherwise. A counted thread's mark is given up and taken
/// again.
template <typename Ready>
rest_result sleep_in_arena(thread_state& t, const search_scope& scope, Ready&& ready) {
  arena& a = *t.in;
  sleeper me{&t, scope};
  a.sleep_begin(me);  // [S1] announced ...
  if (scope.is_counted()) {
    a.end_search_empty(t, scope);
  }
  const bool left_more = step_aside(t, scope.isolation == no_isolation ? rest_place::slot : rest_place::elsewhere);
  sync::heavy_fence();  // ... before the last look
  if (__builtin_expect(left_more, false)) {
    call_for_slots_left(t);
  }
  if (!ready() && !a.has_work(scope, t.domain)) {
    a.manager().park(t.parker);  // [S5]
  }
  const bool called = a.sleep_end(me);
  if (!scope.is_counted()) {
    return called ? rest_result::called : rest_result::look_again;
  }
  if (called) {
    t.slot->hungry.store(true, sync::relaxed);  // counted by the waker
  } else {
    a.begin_search(t, scope);
  }
  return rest_result::look_again;
}

/// Waits for a wait context, on any stack and at any depth.
class context_waiter {
 public:
  explicit context_waiter(wait_context& wait) noexcept : wait_(wait) {}

  static constexpr bool takes_resume_as_end = false;

  [[nodiscard]] wait_context* wait() const noexcept { return &wait_; }
  [[nodiscard]] bool keep_going(const thread_state&) const noexcept { return arena_access::is_waited_for(wait_); }
  [[nodiscard]] static bool may_take(const thread_state&, const task&) noexcept { return true; }

  rest_result rest(thread_state& t, const search_scope& scope) {
    if (base_is_recalled(t)) {
      arena& a = *t.in;
      if (scope.is_counted()) {
        a.end_search_empty(t, scope);
      }
      if (t.is_absent) {
        step_back(t);  // the stack is left, not the thread
      }
      dispatcher& d = *t.running;
      const leave_result how = yield_until_empty(t, wait_, scope);
      thread_state& now = *d.thread;  // may be another
      if (scope.is_counted()) {
        now.in->begin_search(now, scope);
      }
      return how == leave_result::called ? rest_result::called : rest_result::look_again;
    }
    wait_table::entry entry;
    entry.address = reinterpret_cast<std::uintptr_t>(&wait_);
    entry.thread = &t;
    waiting_threads.add(entry);
    const rest_result how = sleep_in_arena(t, scope, [&] { return !keep_going(t) || base_is_recalled(t); });
    waiting_threads.remove(entry);
    return how;
  }

 private:
  wait_context& wait_;
};

/// A worker's outermost loop: as long as there is work and the manager lets it stay.
class worker_waiter {
 public:
  static constexpr bool takes_resume_as_end = false;
  [[nodiscard]] static wait_context* wait() noexcept { return nullptr; }
  [[nodiscard]] static bool keep_going(const thread_state& t) noexcept { return !t.in->worker_should_leave(t); }
  // Whoever lowers a limit and then spawns finds it kept: taking the task acquires the new allotment.
  [[nodiscard]] static bool may_take(const thread_state& t, const task& found) noexcept {
    return keep_going(t) || task_access::is_resume(found);
  }
  static rest_result rest(thread_state&, const search_scope&) noexcept { return rest_result::leave; }
};

/// The outermost loop on a coroutine: until the base stack of its thread may go on.
class coroutine_waiter {
 public:
  static constexpr bool takes_resume_as_end = true;
  [[nodiscard]] static wait_context* wait() noexcept { return nullptr; }
  [[nodiscard]] static bool keep_going(const thread_state& t) noexcept { return !base_is_recalled(t); }
  [[nodiscard]] static bool may_take(const thread_state&, const task&) noexcept { return true; }
  static rest_result rest(thread_state& t, const search_scope& scope) {
    return sleep_in_arena(t, scope, [&] { return base_is_recalled(t); });
  }
};

/// A visitor who helps until the arena is empty.
class empty_waiter {
 public:
  static constexpr bool takes_resume_as_end = false;
  [[nodiscard]] static wait_context* wait() noexcept { return nullptr; }
  [[nodiscard]] static bool keep_going(const thread_state&) noexcept { return true; }
  [[nodiscard]] static bool may_take(const thread_state&, const task&) noexcept { return true; }
  static rest_result rest(thread_state&, const search_scope&) noexcept { return rest_result::leave; }
};

/// A wait deep in a stack steals nothing any more: each theft could wait in its turn, one on top of the other. What is
/// meant for the thread, or for nobody in particular, it takes all the same: who else might come?
bool stack_is_deep(const dispatcher& d) noexcept {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < d.stack_reserve;
}

enum class search_mark : bool { none, held };

/// [S13] Whether somebody has called this stack for work that it has not looked for yet.
enum class call_duty : bool { none, owed };

void hand_call_on(const thread_state& t, call_duty& duty) noexcept {
  if (__builtin_expect(std::exchange(duty, call_duty::none) == call_duty::owed, false)) {
    t.in->call_for_work_left(t.domain);
  }
}

task* take_critical(dispatcher& d, const search_scope& scope) {
  arena& a = *d.thread->in;
  if (!scope.takes_critical || a.critical.empty()) {
    return nullptr;
  }
  task* found = a.critical.take_if([&](const task& c) { return scope.fits(task_access::isolation(c)); });
  if (found != nullptr) {
    d.critical_allowed = false;
    d.thread->taken_from = &a.critical;
  }
  return found;
}

/// Looks everywhere until there is a task, or the waiter has what it waits for; null then.
template <typename Waiter>
task* search(dispatcher& d, Waiter& waiter, const search_scope& scope, search_mark mark, call_duty& duty) {
  const bool counted = scope.is_counted();
  const bool begins = counted && mark == search_mark::none;
  reconsider_stealing(*d.thread, begins ? d.thread->in->begin_search(*d.thread, scope) : platform::monotonic_ns());
  if (d.thread->in->manager().has_l3_groups()) {
    d.thread->l3_group = d.thread->in->manager().l3_group_of_this_thread(d.thread->domain);
    d.thread->slot->l3_group.store(d.thread->l3_group, sync::relaxed);
  }
  search_pace pace;
  task* found = nullptr;
  for (;;) {
    thread_state& t = *d.thread;
    found = take_critical(d, scope);
    if (found == nullptr) {
      t.steals = scope.may_steal ? theft_in(pace.rounds(), t.shyness) : theft::none;
      found = take_elsewhere(t, scope, pace.left());
    }
    if (found != nullptr) {
      if (!waiter.may_take(t, *found) && put_back(t, *found)) {
        found = nullptr;
      }
      break;
    }
    if (!waiter.keep_going(t)) {
      break;
    }
    if (!pace.pause(budget_in(*t.in))) {
      if (std::exchange(t.shyness, 0) > pace.rounds() && scope.may_steal) {
        continue;  // nobody rests before a look everywhere
      }
      const rest_result how = waiter.rest(t, scope);
      // Who is not called, or not for nothing, has looked everywhere itself.
      duty = how == rest_result::called ? call_duty::owed : call_duty::none;
      if (how == rest_result::leave || !waiter.keep_going(*d.thread)) {
        break;
      }
      pace.reset();
    }
  }
  if (__builtin_expect(d.thread->is_absent, false)) {
    step_back(*d.thread);
  }
  if (counted) {
    d.thread->in->end_search_found(*d.thread, scope);  // whoever relied on this search: look on its behalf
  }
  hand_call_on(*d.thread, duty);
  if (found != nullptr) {
    greet_observers(*d.thread);
  }
  return found;
}

/// Runs tasks on the stack of `d` until the waiter is satisfied. User exceptions end in the task's context.
template <typename Waiter>
task* dispatch(dispatcher& d, task* t, Waiter& waiter, search_mark mark) {
  const dispatcher_frame frame(d);
  const search_scope scope = frame.scope(!stack_is_deep(d));
  const isolation_tag isolation = scope.isolation;
  platform::fp_guard fp;
  d.outermost = false;
  d.enqueued_allowed = false;
  d.loop = {&waiter, [](const void* w, const thread_state& me) noexcept {
              return static_cast<const Waiter*>(w)->keep_going(me);
            }};
  bool searching = mark == search_mark::held;
  call_duty duty = call_duty::none;
  bool bypassed = false;
  for (;;) {
    try {
      for (;;) {
        while (t != nullptr) {
          thread_state& me = *d.thread;
          if (__builtin_expect(task_access::is_resume(*t), false)) {
            if constexpr (Waiter::takes_resume_as_end) {
              return t;
            }
            frame.leave_task();
            if (run_resume_task(me, *t, waiter.wait(), scope) == leave_result::called) {
              duty = call_duty::owed;
            }
            d.outermost = false;
            d.enqueued_allowed = false;
            t = nullptr;
          } else {
            if (__builtin_expect(d.critical_allowed && !me.in->critical.empty(), false) && has_room(me)) {
              if (task* urgent = take_critical(d, scope)) {
                // The task at hand waits in the own deque; one that was returned by its predecessor has no address yet.
                if (bypassed) {
                  task_access::set_context(*t, d.ed.context);
                  task_access::set_isolation(*t, d.isolation);
                  task_access::set_address(*t, {me.slot_number, no_slot, me.domain});
                }
                keep(me, *t, make_tag(task_access::isolation(*t), no_slot));
                t = urgent;
                bypassed = false;
              }
            }
            if (!bypassed) {
              d.ed.context = task_access::context(*t);
              const task_address address = task_access::address(*t);
              d.ed.original_slot = address.original_slot;
              d.ed.affinity_slot = address.affinity_slot;
              d.isolation = task_access::isolation(*t);
              fp.use(context_access::fp(*d.ed.context));
            } else {
              d.ed.original_slot = me.slot_number;
              d.ed.affinity_slot = no_slot;
            }
            d.current = t;
            task* next = nullptr;
            if (__builtin_expect(me.is_observed, false)) {
              next = run_observed(d, *t, bypassed ? me.domain : task_access::address(*t).home_domain);
            } else {
              next = context_access::is_cancelled(*d.ed.context) ? t->cancel(d.ed) : t->execute(d.ed);
            }
            t = next;
            bypassed = next != nullptr;
          }
          if (t == nullptr) {
            d.critical_allowed = scope.takes_critical;
            d.isolation = isolation;
            bypassed = false;
            if (!waiter.keep_going(*d.thread)) {
              hand_call_on(*d.thread, duty);
              return nullptr;
            }
            t = take_own(*d.thread, isolation);
          }
        }
        if (searching || waiter.keep_going(*d.thread)) {
          t = take_own(*d.thread, isolation);  // what an earlier occupant of the slot has left
          if (t != nullptr) {
            if (searching) {
              d.thread->in->end_search_found(*d.thread, scope);
              searching = false;
            }
            hand_call_on(*d.thread, duty);
            continue;
          }
        } else {
          hand_call_on(*d.thread, duty);
          return nullptr;
        }
        frame.leave_task();
        t = search(d, waiter, scope, searching ? search_mark::held : search_mark::none, duty);
        d.outermost = false;
        d.enqueued_allowed = false;
        searching = false;
        if (t == nullptr) {
          return nullptr;
        }
      }
    } catch (...) {
      // The task has not finished: its context is cancelled now, and the loop calls its cancel() next.
      context_access::capture_exception(*d.ed.context);
      fp.forget();
      bypassed = true;
    }
  }
}

}  // namespace

bool may_go_on(const thread_state& t) noexcept {
  const dispatcher& d = *t.running;
  return (!d.critical_allowed || t.in->critical.empty()) && d.loop.keeps_going(d.loop.waiter, t);
}

// ---- spawning

namespace {

inline void spawn_here(thread_state& t, task& work, task_group_context& ctx, slot_id noted_affinity) {
  bind_context(t, ctx);
  const isolation_tag isolation = t.running->isolation;
  task_access::set_context(work, &ctx);
  task_access::set_isolation(work, isolation);
  task_access::set_address(work, {t.slot_number, noted_affinity, t.domain});
  keep(t, work, make_tag(isolation, no_slot));
  t.in->new_work(isolation, t.domain, *t.slot);
}

/// Puts the task into a mailbox and the own deque. False if there is no room or nobody could come for it: an affinity
/// is a hint, and so want of memory is no error here.
bool mail(thread_state& t, task& work, slot_id address, std::uint64_t tag) noexcept {
  if (!t.slot->tasks.reserve_one()) {  // so that nothing can fail once the mail is posted
    return false;
  }
  task_proxy* proxy = nullptr;
  try {
    proxy = new (t.pool->allocate(sizeof(task_proxy))) task_proxy(work, *t.pool);
    if (t.in->post(address, as_item(*proxy), tag)) {
      return t.slot->tasks.try_push(as_item(*proxy), tag);  // never false
    }
  } catch (const std::bad_alloc&) {
  }
  if (proxy != nullptr) proxy->free(*t.pool);
  return false;
}

}  // namespace

void spawn(thread_state& t, task& work, task_group_context& ctx) { spawn_here(t, work, ctx, no_slot); }

void spawn(thread_state& t, task& work, task_group_context& ctx, slot_id affinity) {
  arena& a = *t.in;
  if (affinity == no_slot || !a.is_address(affinity)) {
    // affinity_partitioner asks with no_slot for what it has not seen yet: run anywhere, and note where (any_slot
    // differs from every slot, so that the task's body records the one it ran in).
    spawn_here(t, work, ctx, affinity == no_slot ? any_slot : affinity);
    return;
  }
  bind_context(t, ctx);
  const isolation_tag isolation = t.running->isolation;
  const std::uint16_t home = a.home_of(affinity);
  task_access::set_context(work, &ctx);
  task_access::set_isolation(work, isolation);
  task_access::set_address(work, {t.slot_number, affinity, home});

  // A slot's mail waits for its thread also while that is away: a worker comes back to the slot that it had.
  const bool to_slot = affinity < first_domain_slot;
  const bool mail_to_slot = to_slot && affinity != t.slot_number;
  const bool mail_to_domain = !to_slot && home != t.domain;
  if (mail_to_slot || mail_to_domain) {
    if (mail(t, work, affinity, make_tag(isolation, affinity))) {
      a.new_mail(work_kind::mailed, isolation, home);
      return;
    }
  }
  const bool keep_home = a.domain_count() > 1 && home == t.domain;
  keep(t, work, make_tag(isolation, keep_home ? static_cast<slot_id>(first_domain_slot + home) : no_slot));
  a.new_work(isolation, home, *t.slot);
}

void detach(thread_state& t, task& work, task_group_context& ctx, std::uint16_t domain) {
  if (t.running->isolation != no_isolation) {
    spawn(t, work, ctx, static_cast<slot_id>(first_domain_slot + domain));
    return;
  }
  bind_context(t, ctx);
  task_access::set_context(work, &ctx);
  task_access::set_isolation(work, no_isolation);
  task_access::set_address(work, {no_slot, no_slot, domain});
  t.in->detach(work, domain);
}

// ---- waiting

void run_and_wait(thread_state& t, task* first, wait_context& wait, task_group_context& ctx) {
  if (!t.domain_is_fixed && t.running->outermost) {
    // An application thread's: here, where it may spread its work.
    t.move_to_domain(t.in->manager().domain_of_this_thread(), t.in->domain_count());
    t.slot->domain.store(t.domain, sync::relaxed);
  }
  context_waiter waiter(wait);
  if (first != nullptr || waiter.keep_going(t)) {
    if (first != nullptr) {
      task_access::set_isolation(*first, t.running->isolation);
      task_access::set_address(*first, {t.slot_number, no_slot, t.domain});
    }
    dispatch(*t.running, first, waiter, search_mark::none);
  }
  if (__builtin_expect(context_access::has_exception(ctx), false)) {
    context_access::rethrow(ctx);
  }
}

void work_in_arena(thread_state& t, arena& a) noexcept {
  a.drop_kept_reference();
  slot_id number = a.occupy_slot(t, thread_kind::worker);
  if (number == no_slot && a.worker_could_enter()) {
    number = a.occupy_slot(t, thread_kind::worker);
  }
  if (number == no_slot) {
    a.worker_found_no_slot(t);
    a.worker_leaves(t.domain);
  } else {
    attachment stay(t, a, number, thread_kind::worker);
    search_mark mark = search_mark::held;
    if (a.observers.has_news(t.greeted)) {
      a.end_search_found(t, {});  // [S8] the observers may take long: others look meanwhile
      mark = search_mark::none;
      greet_observers(t);
    } else {
      a.adopt_search_mark(t);
    }
    worker_waiter waiter;
    dispatch(stay.base(), nullptr, waiter, mark);
    a.worker_leaves(t.domain);  // before the observers: whoever they let go on finds mandatory concurrency at its end
    if (a.observers.any()) {
      a.observers.take_leave(t.greeted, true);
    }
  }
  a.drop_reference();
}

void work_until_empty(thread_state& t, arena& a) {
  if (t.in == &a) {
    empty_waiter waiter;
    dispatch(*t.running, nullptr, waiter, search_mark::none);
    return;
  }
  for (;;) {
    const slot_id number = a.occupy_slot(t, thread_kind::application);
    if (number != no_slot) {
      arena_visit visit(t, a, number);
      empty_waiter waiter;
      dispatch(visit.base(), nullptr, waiter, search_mark::none);
    }
    if (!a.has_workers() && !a.has_work(no_isolation, arena::anybody)) {
      return;
    }
    sched_yield();
  }
}

// ---- coroutines: the loop on a stack of its own

task* dispatch_on_coroutine(dispatcher& d) {
  coroutine_waiter waiter;
  return dispatch(d, nullptr, waiter, search_mark::none);
}

}  // namespace homing::scheduler
