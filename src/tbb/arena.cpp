/// Exported: task_arena, enqueue, submit, isolation, parallel phases.
#include <oneapi/tbb/task_arena.h>

#include "runtime/arena/arena_access.hpp"
#include "runtime/dispatch/dispatch.hpp"
#include "runtime/process/implicit_arena.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "tbb/handed_over.hpp"
#include "tbb/known_constraints.hpp"
#include "tbb/live_arena.hpp"

namespace tbb::detail::r1 {

namespace scheduler = homing::scheduler;

namespace {

scheduler::arena& arena_or_current(d1::task_arena_base* user) {
  if (user != nullptr) {
    if (scheduler::arena* a = scheduler::live_arena_of(*user)) {
      return *a;
    }
  }
  return *scheduler::arena_thread().in;
}

void address_here(scheduler::thread_state& here, d1::task& t, d1::task_group_context& ctx) {
  scheduler::bind_context(here, ctx);
  scheduler::task_access::set_context(t, &ctx);
  scheduler::task_access::set_isolation(t, scheduler::no_isolation);
  scheduler::task_access::set_address(t, {scheduler::no_slot, scheduler::no_affinity, here.domain});
}

void enqueue_in(scheduler::arena& a, d1::task& t, d1::task_group_context& ctx) {
  scheduler::thread_state& here = scheduler::thread_for(t, ctx);
  address_here(here, t, ctx);
  a.enqueue(t, scheduler::arena::no_home, here.number);
}

/// An arena that takes its size from its constraints must know them all. One that is told its size runs with
/// constraints that mean nothing, as in oneTBB, and anywhere; only a node that is not there among several is an error.
void assert_meant(const homing::topology::machine& machine, const scheduler::arena_request& request) {
  if (request.max_concurrency <= 0) {
    assert_known(machine, request.constraints);
  } else if (request.constraints.numa_id >= 0 && machine.numa_ids().size() > 1) {
    assert_known_node(machine, request.constraints.numa_id);
  }
}

void make_arena(d1::task_arena_base& user) {
  const scheduler::thread_state& t = scheduler::arena_thread();  // the caller is attached, as oneTBB's is
  scheduler::arena_request request = task_arena_impl::request_of(user);
  request.only_domain = t.domain_of_next_arena;
  request.steal = t.steal_in_next_arena;
  scheduler::resource_manager& manager = scheduler::resource_manager::current();
  assert_meant(manager.machine(), request);
  scheduler::arena& a = scheduler::arena::make(manager, request);
  a.add_user();
  task_arena_impl::set_arena(user, &a);
}

}  // namespace

void initialize(d1::task_arena_base& user) {
  try {
    make_arena(user);
  } catch (...) {
    task_arena_impl::restart_initialization(user);
    throw;
  }
}

void terminate(d1::task_arena_base& user) {
  scheduler::arena* a = task_arena_impl::exchange_arena(user, nullptr);
  if (a != nullptr) {
    scheduler::drop_user_of(*a);
  }
}

bool attach(d1::task_arena_base& user) {
  const scheduler::thread_state* t = scheduler::this_thread_or_null;
  if (t == nullptr || t->in == nullptr) {
    return false;
  }
  scheduler::arena& a = *t->in;
  a.add_reference();
  a.add_user();
  task_arena_impl::copy_settings(user, a);
  task_arena_impl::set_arena(user, &a);
  return true;
}

void execute(d1::task_arena_base& user, d1::delegate_base& body) {
  scheduler::execute_in_arena(scheduler::arena_thread(), *scheduler::live_arena_of(user), body);
}

void wait(d1::task_arena_base& user) {
  scheduler::work_until_empty(scheduler::arena_thread(), *scheduler::live_arena_of(user));
}

int max_concurrency(const d1::task_arena_base* user) {
  if (user != nullptr) {
    const scheduler::arena* const known = scheduler::known_arena_of(*user);
    if (const scheduler::arena* a = known != nullptr ? known : task_arena_impl::arena_of(*user)) {
      return static_cast<int>(a->concurrency_now());
    }
    const scheduler::arena_request request = task_arena_impl::request_of(*user);
    if (request.max_concurrency > 0) {
      return request.max_concurrency;
    }
    const auto& c = request.constraints;
    const d1::constraints wanted = d1::constraints{}
                                       .set_numa_id(c.numa_id)
                                       .set_core_type(c.core_type)
                                       .set_max_threads_per_core(c.max_threads_per_core);
    return c == homing::topology::constraints_query{} ? numa_default_concurrency(-1)
                                                      : constraints_default_concurrency(wanted);
  }
  const scheduler::thread_state* t = scheduler::this_thread_or_null;
  return t != nullptr && t->in != nullptr ? static_cast<int>(t->in->concurrency_now()) : numa_default_concurrency(-1);
}

void isolate_within_arena(d1::delegate_base& body, std::intptr_t isolation) {
  scheduler::isolate(scheduler::arena_thread(), body, isolation);
}

void enqueue(d1::task& t, d1::task_arena_base* user) {
  scheduler::arena& a = arena_or_current(user);
  enqueue_in(a, t, a.default_context());
}

void enqueue(d1::task& t, d1::task_group_context& ctx, d1::task_arena_base* user) {
  static_cast<void>(scheduler::thread_for(t, ctx));  // first: who has no arena may have no memory for one
  enqueue_in(arena_or_current(user), t, ctx);
}

void submit(d1::task& t, d1::task_group_context& ctx, arena* where, std::uintptr_t as_critical) {
  scheduler::arena& a = scheduler::live_arena(*reinterpret_cast<scheduler::arena*>(where));
  scheduler::thread_state& here = scheduler::thread_for(t, ctx);
  if (as_critical != 0) {
    scheduler::bind_context(here, ctx);
    scheduler::task_access::set_context(t, &ctx);
    scheduler::task_access::set_isolation(t, here.in == &a ? here.running->isolation : scheduler::no_isolation);
    scheduler::task_access::set_address(t, {here.slot_number, scheduler::no_affinity, here.domain});
    a.submit_critical(t);
  } else if (here.in == &a) {
    scheduler::spawn(here, t, ctx);
  } else {
    address_here(here, t, ctx);
    a.submit(t, scheduler::arena::no_home, here.number);
  }
}

void enter_parallel_phase(d1::task_arena_base* user, std::uintptr_t) { arena_or_current(user).begin_phase(); }

void exit_parallel_phase(d1::task_arena_base* user, std::uintptr_t flags) {
  arena_or_current(user).end_phase((flags & d1::phase::end_fast_leave) != 0);
}

d1::slot_id execution_slot(const d1::task_arena_base& user) {
  const scheduler::thread_state* t = scheduler::this_thread_or_null;
  const bool is_inside = t != nullptr && t->in != nullptr && t->in == scheduler::known_arena_of(user);
  return is_inside ? to_index(t->slot_number) : d1::no_slot;
}

}  // namespace tbb::detail::r1
