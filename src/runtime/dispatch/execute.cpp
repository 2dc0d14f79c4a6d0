/// Running a function in an arena that the calling thread is not in, or in isolation.
#include <oneapi/tbb/detail/_utils.h>
#include <oneapi/tbb/task_arena.h>

#include "platform/fp_settings.hpp"
#include "runtime/arena/arena_access.hpp"
#include "runtime/dispatch/dispatch.hpp"
#include "runtime/dispatch/forks.hpp"
#include "runtime/stack/stay.hpp"
#include "runtime/thread/wait_table.hpp"

namespace homing::scheduler {
namespace {

/// The function in the guise of a task, for a thread that is in the arena; its owner waits.
class delegated_task final : public task {
 public:
  delegated_task(tbb::detail::d1::delegate_base& body, wait_context& done) noexcept : body_(body), done_(done) {}

  [[nodiscard]] bool try_claim() noexcept { return !claimed_.exchange(true, sync::acq_rel); }

  task* execute(tbb::detail::d1::execution_data&) override {
    if (try_claim()) {
      // As execute() itself would: a clean context, no isolation, no task around it.
      thread_state& t = this_thread();  // in the arena: it runs this task
      dispatcher& d = *t.running;
      const dispatcher_frame frame(d);
      d.ed.context = &t.in->default_context();
      d.isolation = no_isolation;
      d.outermost = true;
      d.critical_allowed = true;
      d.enqueued_allowed = true;
      context_access::run_into(*task_access::context(*this), body_);
    }
    done_.release();
    return nullptr;
  }
  task* cancel(tbb::detail::d1::execution_data&) override {
    done_.release();
    return nullptr;
  }

 private:
  tbb::detail::d1::delegate_base& body_;
  wait_context& done_;
  sync::atomic<bool> claimed_{false};
};

/// Sleeps until a slot is free, which it takes, or until somebody in the arena has run the task (no_slot).
slot_id wait_for_slot_or_end(thread_state& t, arena& a, wait_context& done) {
  wait_table::entry entry;
  entry.address = reinterpret_cast<std::uintptr_t>(&done);
  entry.thread = &t;
  waiting_threads.add(entry);
  sleeper me(t);
  slot_id number = no_slot;
  for (;;) {
    a.asleep().wait_for_slot(me);
    const bool left_more = step_aside(t, rest_place::elsewhere);
    sync::heavy_fence();  // [A2] listed before the look at the slots; partner: a freed slot, then the look at the list
    if (left_more) {
      call_for_slots_left(t);
    }
    if (!arena_access::is_waited_for(done)) {
      break;
    }
    number = a.occupy_slot(t, thread_kind::application);
    if (number != no_slot) {
      break;
    }
    a.supplier().park(t.parker);  // [A15] as any wait
  }
  a.asleep().stop_waiting_for_slot(me);
  waiting_threads.remove(entry);
  if (t.is_absent) {
    step_back(t);
  }
  return number;
}

void delegate(thread_state& t, arena& a, tbb::detail::d1::delegate_base& body) {
  const arena_reference at_the_door(a);
  wait_context done(1);
  task_group_context ctx(task_group_context::isolated);
  context_access::bind(ctx, nullptr, a.default_context());
  delegated_task work(body, done);
  task_access::set_context(work, &ctx);
  task_access::set_isolation(work, no_isolation);
  task_access::set_address(work, {no_slot, no_affinity, t.domain});
  a.delegate(work);
  const slot_id number = wait_for_slot_or_end(t, a, done);
  if (number != no_slot) {
    const arena_visit visit(t, a, number);
    if (work.try_claim()) {
      context_access::run_into(ctx, body);
    }
    // The task is in the queue still, or on its way: whoever takes it finds it claimed and releases `done`.
    run_and_wait(t, nullptr, done, ctx);
    return;
  }
  if (context_access::has_exception(ctx)) {
    context_access::rethrow(ctx);
  }
}

/// The thread is in the arena already.
[[gnu::noinline]] void execute_here(thread_state& t, tbb::detail::d1::delegate_base& body) {
  dispatcher& d = *t.running;
  const dispatcher_frame frame(d);
  task_group_context& context = t.in->default_context();
  d.ed.context = &context;
  d.isolation = no_isolation;
  d.outermost = true;
  d.critical_allowed = true;
  d.enqueued_allowed = true;
  platform::fp_guard fp;
  fp.use(context_access::fp(context));
  body();
}

/// No slot is free.
[[gnu::cold, gnu::noinline]] void execute_in_full_arena(thread_state& t, arena& a,
                                                        tbb::detail::d1::delegate_base& body) {
  const slot_id held = slot_held_in(t, a);  // from further up this stack: nobody else can use it until we return
  if (held == no_slot) {
    delegate(t, a, body);
    return;
  }
  const arena_visit visit(t, a, held);
  body();
}

}  // namespace

void execute_in_arena(thread_state& t, arena& a, tbb::detail::d1::delegate_base& body) {
  const forks_left_aside aside(t);
  if (t.in == &a) {
    execute_here(t, body);
    return;
  }
  const slot_id number = a.occupy_slot(t, thread_kind::application);
  if (__builtin_expect(number == no_slot, false)) {
    execute_in_full_arena(t, a, body);
    return;
  }
  const arena_visit visit(t, a, number);
  body();
}

void isolate(thread_state& t, tbb::detail::d1::delegate_base& body, isolation_tag tag) {
  const forks_left_aside aside(t);
  dispatcher& d = *t.running;
  struct guard {
    dispatcher& d;
    isolation_tag outer;
    ~guard() { d.isolation = outer; }
  } const guard{d, d.isolation};
  d.isolation = tag != no_isolation ? tag : reinterpret_cast<isolation_tag>(&guard);
  body();
}

}  // namespace homing::scheduler
