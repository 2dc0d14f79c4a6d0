/// What is handed to an arena and to no thread of it: queues, and the worker that must come for what is in them.
///
/// Threads:   any.
/// Protocols: docs/protocols/arena.md [A3], [A4], [A12], [A20], sleep.md [S2], [S14].
#include <algorithm>

#include "runtime/arena/arena.hpp"
#include "runtime/task/task_access.hpp"

namespace homing::scheduler {

void arena::detach(task& t, domain_index home) {
  domain(home).detached.push(t);
  new_mail(work_kind::detached, no_isolation, home);
}

void arena::push_enqueued(task& t, domain_index home_or_none, unsigned pusher) {
  if (home_or_none == no_home) {
    unaddressed.push(t, pusher);
  } else {
    domain(home_or_none).enqueued.push(t);
  }
  sync::full_fence();
}

void arena::submit(task& t, domain_index home_or_none, unsigned pusher) {
  const arena_reference until_called(*this);  // the task may end the arena
  push_enqueued(t, home_or_none, pusher);
  new_enqueued_work(home_or_none);
}

void arena::enqueue(task& t, domain_index home_or_none, unsigned pusher) {
  const arena_reference until_called(*this);
  push_enqueued(t, home_or_none, pusher);
  want_mandatory_worker();
  new_enqueued_work(home_or_none);
}

void arena::delegate(task& t) {
  delegated.push(t);
  sync::full_fence();
  want_mandatory_worker();
  new_enqueued_work(no_home);
}

void arena::new_enqueued_work(domain_index home_or_none) noexcept {
  const bool common = home_or_none == no_home;
  const domain_index home = common ? domain_index{0} : home_or_none;
  const bool nobody =
      common ? searchers_.nobody_for(work_kind::enqueued) : searchers_.nobody_for(work_kind::enqueued, home);
  if (nobody && could_come()) {
    const bool stay = !common && is_left_to(home);
    call_somebody({work_kind::enqueued, no_isolation, home}, stay ? reach::home : reach::all);
  }
  if (__builtin_expect(supplier_.may_be_refused(), false)) {
    supplier_.insist_on_worker(*this);
  }
}

void arena::want_mandatory_worker() noexcept {
  if ((max_workers_ == 0 || is_of_one_domain() || supplier_.allottable_workers() == 0) &&
      slot_count() > reserved_slots_ && !account_.mandatory.load(sync::relaxed) &&
      !account_.mandatory.exchange(true, sync::relaxed)) {
    account_.busy.store(true, sync::relaxed);  // the exchange of `listed` and a full fence are behind it [A9]
    static_cast<void>(supplier_.demand_rose(*this, domain_index{0}));
  }
}

void arena::want_mandatory_worker_if_deserted() noexcept {
  // [A20] The stack is queued before the look at the slots; partner: a slot that is freed, then the look at the queue.
  sync::heavy_fence();
  if (is_deserted()) {
    want_mandatory_worker();
  }
}

void arena::overflow(task& t) {
  const isolation_tag its = task_access::isolation(t);  // before the push: another thread may run the task at once
  overflowed.push(t);
  new_common_work({work_kind::spawned, its});
}

void arena::submit_critical(task& t) {
  const arena_reference until_called(*this);
  const isolation_tag its = task_access::isolation(t);  // as in overflow()
  critical.push(t);
  new_common_work({work_kind::critical, its});
}

void arena::submit_resume(left_stack& stack) noexcept {
  resumed.push(stack);
  sync::full_fence();
  if (is_of_one_domain()) {
    want_mandatory_worker();  // its own domain may have none, and all who know of the stack may wait for it elsewhere
  } else if (is_without_workers()) {
    want_mandatory_worker_if_deserted();
  }
  new_common_work({work_kind::resumed});
}

void arena::begin_phase() noexcept {
  // relaxed: a hint about how long to look for work.
  phases_.fetch_add(1, sync::relaxed);
  leaves_fast_once_.store(false, sync::relaxed);
  if (could_come()) {
    call_workers_for_phase();
  }
}

void arena::end_phase(bool leave_fast) noexcept {
  int phases = phases_.load(sync::relaxed);
  // None: it began before a fork, in the arena that this one succeeds. [A29]
  while (phases > 0 && !phases_.compare_exchange_weak(phases, phases - 1, sync::relaxed, sync::relaxed)) {
  }
  if (phases == 1 && leave_fast) {
    leaves_fast_once_.store(true, sync::relaxed);
  }
}

}  // namespace homing::scheduler
