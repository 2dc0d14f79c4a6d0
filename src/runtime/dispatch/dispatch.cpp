#include "runtime/dispatch/dispatch.hpp"

#include <sched.h>

#include "platform/check.hpp"
#include "platform/fp_settings.hpp"
#include "runtime/arena/arena_access.hpp"
#include "runtime/dispatch/dispatch_loop.hpp"
#include "runtime/dispatch/forks.hpp"
#include "runtime/dispatch/observed_run.hpp"
#include "runtime/search/own_tasks.hpp"
#include "runtime/search/search.hpp"
#include "runtime/search/waiters.hpp"
#include "runtime/stack/stack_switching.hpp"
#include "runtime/stack/stay.hpp"
#include "runtime/thread/thread_domain.hpp"
#include "runtime/thread/wait_table.hpp"

namespace homing::scheduler {

void notify_waiters(std::uintptr_t address) noexcept { waiting_threads.notify(address); }

namespace {

/// A wait deep in a stack steals nothing any more: each steal could wait in its turn, one on top of the other. What is
/// meant for the thread, or for nobody in particular, it takes all the same: who else might come?
bool stack_is_deep(const dispatcher& d) noexcept {
  return d.deep.has(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
}

/// One loop on one stack: run what is at hand, take the next of the own deque, search; until the waiter has what it
/// waits for. User exceptions end in the task's context.
template <waiter Waiter>
class dispatch_run {
 public:
  dispatch_run(dispatcher& d, Waiter& waiter, search_mark mark) noexcept
      : d_(d), waiter_(waiter), frame_(d), scope_(frame_.scope(!stack_is_deep(d))), mark_(mark) {
    be_in_loop();
    d.loop = {&waiter, [](const void* w, const thread_state& me) noexcept {
                return static_cast<const Waiter*>(w)->keep_going(me);
              }};
  }

  /// `first` may be null. Returns null, or the resume task that has ended the loop.
  task* run(task* first) {
    at_hand_ = first;
    for (;;) {
      tbb::detail::r1::tbb_exception_ptr* thrown = nullptr;
      try {
        return run_until_satisfied();
      } catch (...) {
        thrown = context_access::take_current_exception();
      }
      // The task has not finished: its context is cancelled now, and its cancel() comes next.
      context_access::keep_exception(*d_.ed.context, thrown);
      fp_.forget();
      cancel_task();
    }
  }

 private:
  task* run_until_satisfied() {
    for (;;) {
      while (at_hand_ != nullptr) {
        if (__builtin_expect(task_access::is_resume(*at_hand_), false)) {
          if constexpr (Waiter::takes_resume_as_end) {
            return at_hand_;
          }
          go_on_with_stack();
        } else {
          prefer_critical();
          run_task();
        }
        if (at_hand_ == nullptr && !take_next_own()) {
          return nullptr;
        }
      }
      if (!find_next()) {
        return nullptr;
      }
    }
  }

  /// Runs the task at hand; the one that it returns is at hand then, and goes on in its place.
  void run_task() {
    thread_state& me = *d_.thread;
    task& t = *at_hand_;
    if (!bypassed_) {
      d_.ed.context = task_access::context(t);
      const task_address address = task_access::address(t);
      d_.ed.original_slot = to_index(address.original_slot);
      d_.ed.affinity_slot = to_number(address.wished);
      d_.isolation = task_access::isolation(t);
      fp_.use(context_access::fp(*d_.ed.context));
    } else {
      d_.ed.original_slot = to_index(me.slot_number);
      d_.ed.affinity_slot = to_number(no_affinity);
    }
    d_.current = &t;
    task* next = nullptr;
    if (__builtin_expect(me.is_observed, false)) {
      next = run_observed(d_, t, bypassed_ ? me.domain : task_access::address(t).home);
    } else {
      next = context_access::is_cancelled(*d_.ed.context) ? t.cancel(d_.ed) : t.execute(d_.ed);
    }
    at_hand_ = next;
    bypassed_ = next != nullptr;
  }

  /// The task at hand has thrown. Without a look at its context, which another waiter may have reset since. [C7]
  void cancel_task() noexcept {
    platform::require(at_hand_ != nullptr, "C6: what is thrown here is a task's");
    at_hand_ = at_hand_->cancel(d_.ed);
    bypassed_ = at_hand_ != nullptr;
    if (!bypassed_) {
      d_.critical_allowed = scope_.takes_critical;
      d_.isolation = scope_.isolation;
    }
  }

  /// A critical task goes before the one at hand, which waits in the own deque.
  void prefer_critical() {
    thread_state& me = *d_.thread;
    if (__builtin_expect(!d_.critical_allowed || me.in->critical.empty(), true) || !has_room(me)) {
      return;
    }
    const search_scope scope = scope_;
    take_permission may_take(&Waiter::may_take);
    const found_task urgent = take_critical(me, scope, may_take);
    if (!urgent) {
      return;
    }
    d_.critical_allowed = false;
    if (bypassed_) {  // it was returned by its predecessor, and has no address yet
      task_access::set_context(*at_hand_, d_.ed.context);
      task_access::set_isolation(*at_hand_, d_.isolation);
      task_access::set_address(*at_hand_, {me.slot_number, no_affinity, me.domain});
    }
    keep_as_spawned(me, *at_hand_);  // [S2] who searched may have looked just before
    at_hand_ = urgent.what;
    bypassed_ = false;
  }

  /// The resume task at hand: this stack is left, and goes on later, perhaps on another thread.
  void go_on_with_stack() {
    frame_.leave_task();
    const search_scope scope = scope_;
    if (run_resume_task(*d_.thread, *at_hand_, waiter_.wait(), scope) == leave_result::called) {
      duty_ = call_duty::owed;
    }
    be_in_loop();
    at_hand_ = nullptr;
  }

  /// After a task. False if the waiter has what it waits for.
  bool take_next_own() {
    d_.critical_allowed = scope_.takes_critical;
    d_.isolation = scope_.isolation;
    bypassed_ = false;
    if (!waiter_.keep_going(*d_.thread)) {
      hand_call_on(*d_.thread, duty_);
      return false;
    }
    at_hand_ = take_own(*d_.thread, scope_.isolation);
    return true;
  }

  /// When the own deque is empty. False if the waiter has what it waits for.
  bool find_next() {
    const bool searching = mark_ == search_mark::held;
    if (!searching && !waiter_.keep_going(*d_.thread)) {
      hand_call_on(*d_.thread, duty_);
      return false;
    }
    at_hand_ = take_own(*d_.thread, scope_.isolation);  // what an earlier occupant of the slot has left
    if (at_hand_ != nullptr) {
      if (searching) {
        const search_scope scope = scope_;
        d_.thread->in->search().stop_searching(*d_.thread, scope);
      }
      hand_call_on(*d_.thread, duty_);
    } else {
      frame_.leave_task();
      // Copies: what is passed by reference would keep the whole loop's state in memory, for each task.
      const search_scope scope = scope_;
      call_duty duty = duty_;
      at_hand_ = search(d_, waiter_, scope, mark_, duty);
      duty_ = duty;
      be_in_loop();
    }
    mark_ = search_mark::none;
    return at_hand_ != nullptr;
  }

  /// What runs now runs on top of this loop.
  void be_in_loop() noexcept {
    d_.outermost = false;
    d_.enqueued_allowed = false;
  }

  dispatcher& d_;
  Waiter& waiter_;
  const dispatcher_frame frame_;  ///< puts back, at the end, what was before the loop
  const search_scope scope_;
  platform::fp_guard fp_;
  search_mark mark_;
  call_duty duty_ = call_duty::none;
  bool bypassed_ = false;    ///< the task at hand was returned by its predecessor
  task* at_hand_ = nullptr;  ///< to run next, or running
};

template <waiter Waiter>
task* dispatch(dispatcher& d, task* first, Waiter& waiter, search_mark mark) {
  return dispatch_run<Waiter>(d, waiter, mark).run(first);
}

}  // namespace

bool may_go_on(const thread_state& t) noexcept {
  const dispatcher& d = *t.running;
  return (!d.critical_allowed || t.in->critical.empty()) && d.loop.keeps_going(d.loop.waiter, t);
}

void run_until_empty(thread_state& t, task* first, wait_context& wait) {
  if (!t.domain_is_fixed && t.running->outermost) {
    // An application thread's: here, where it may spread its work.
    t.move_to_domain(domain_of_this_thread(t.in->settings()), t.in->domain_count());
    t.slot->domain.store(t.domain, sync::relaxed);
  }
  context_waiter waiter(wait);
  if (first != nullptr) {
    task_access::set_isolation(*first, t.running->isolation);
    task_access::set_address(*first, {t.slot_number, no_affinity, t.domain});
  } else if (!waiter.keep_going(t)) {
    return;
  }
  const forks_left_aside aside(t);
  dispatch(*t.running, first != nullptr ? first : take_own(t, t.running->isolation), waiter, search_mark::none);
}

void run_and_wait(thread_state& t, task* first, wait_context& wait, task_group_context& ctx) {
  run_until_empty(t, first, wait);
  if (__builtin_expect(context_access::has_exception(ctx), false)) {
    context_access::rethrow(ctx);
  }
}

std::chrono::nanoseconds work_in_arena(thread_state& t, arena& a) noexcept {
  std::chrono::nanoseconds time_left{0};
  if (const slot_id number = a.admit_worker(t); number != no_slot) {
    attachment stay(t, a, number, thread_kind::worker);
    search_mark mark = search_mark::held;
    if (a.observers.has_news(t.notified)) {
      a.search().stop_searching(t, {});  // [S8] the observers may take long: others look meanwhile
      mark = search_mark::none;
      notify_entry(t);
    } else {
      a.search().adopt(t);
    }
    worker_waiter waiter;
    dispatch(stay.base(), nullptr, waiter, mark);
    time_left = time_awake(a, waiter.has_looked_long(), t.was_called_soon);
    a.worker_leaves(t.domain,
                    number);  // before the observers: whoever they let go on finds mandatory concurrency at its end
    if (a.observers.any()) {
      a.observers.notify_exit(t.notified, true);
    }
  }
  a.drop_reference();
  return time_left;
}

void work_until_empty(thread_state& t, arena& a) {
  const forks_left_aside aside(t);
  if (t.in == &a) {
    empty_waiter waiter;
    dispatch(*t.running, nullptr, waiter, search_mark::none);
    return;
  }
  const arena_reference until_empty(a);
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
