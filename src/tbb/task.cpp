/// Exported: spawn, wait, the current task and context, suspend and resume.
#include <oneapi/tbb/detail/_task.h>

#include "runtime/dispatch/dispatch.hpp"
#include "runtime/dispatch/suspend.hpp"
#include "runtime/process/implicit_arena.hpp"
#include "runtime/thread/reference_vertices.hpp"
#include "tbb/handed_over.hpp"

namespace tbb::detail::r1 {

namespace scheduler = homing::scheduler;

namespace {

/// A thread that has entered an arena, or null.
inline scheduler::thread_state* thread_in_arena() noexcept {
  scheduler::thread_state* const t = scheduler::this_thread_or_null;
  return __builtin_expect(t != nullptr && t->in != nullptr, true) ? t : nullptr;
}

// What comes first on a thread is done apart: the hot functions end by a jump, and keep nothing over a call.

[[gnu::cold, gnu::noinline]] void spawn_first(d1::task& t, d1::task_group_context& ctx) {
  scheduler::spawn(scheduler::thread_for(t, ctx), t, ctx);
}

[[gnu::cold, gnu::noinline]] void wait_first(d1::wait_context& wait, d1::task_group_context& ctx) {
  scheduler::run_and_wait(scheduler::arena_thread(), nullptr, wait, ctx);
}

}  // namespace

void spawn(d1::task& t, d1::task_group_context& ctx) {
  if (scheduler::thread_state* const here = thread_in_arena()) {
    scheduler::spawn(*here, t, ctx);
  } else {
    spawn_first(t, ctx);
  }
}

void spawn(d1::task& t, d1::task_group_context& ctx, d1::slot_id id) {
  scheduler::spawn(scheduler::thread_for(t, ctx), t, ctx, scheduler::affinity{id});
}

void execute_and_wait(d1::task& t, d1::task_group_context& t_ctx, d1::wait_context& wait,
                      d1::task_group_context& w_ctx) {
  scheduler::thread_state& thread = scheduler::arena_thread();
  scheduler::bind_context(thread, t_ctx);
  scheduler::task_access::set_context(t, &t_ctx);
  scheduler::run_and_wait(thread, &t, wait, w_ctx);
}

void wait(d1::wait_context& wait, d1::task_group_context& ctx) {
  if (scheduler::thread_state* const here = thread_in_arena()) {
    scheduler::run_and_wait(*here, nullptr, wait, ctx);
  } else {
    wait_first(wait, ctx);
  }
}

d1::slot_id execution_slot(const d1::execution_data*) {
  const scheduler::thread_state* t = scheduler::this_thread_or_null;
  return t == nullptr || t->in == nullptr ? d1::no_slot : to_index(t->slot_number);
}

d1::task_group_context* current_context() {
  const scheduler::thread_state* t = scheduler::this_thread_or_null;
  return t == nullptr || t->in == nullptr || t->running->outermost ? nullptr : t->running->ed.context;
}

d1::task* current_task_ptr() {
  const scheduler::thread_state* t = scheduler::this_thread_or_null;
  return t == nullptr || t->in == nullptr || t->running->outermost ? nullptr : t->running->current;
}

d1::wait_tree_vertex_interface* get_thread_reference_vertex(d1::wait_tree_vertex_interface* wait) {
  return &scheduler::vertex_of_this_thread(*wait);
}

void notify_waiters(std::uintptr_t wait_ctx_addr) { scheduler::notify_waiters(wait_ctx_addr); }

void suspend(suspend_callback_type callback, void* argument) {
  scheduler::suspend(scheduler::arena_thread(), callback, argument);
}

void resume(suspend_point_type* tag) { reinterpret_cast<scheduler::suspend_point*>(tag)->end_suspension(); }

suspend_point_type* current_suspend_point() {
  return reinterpret_cast<suspend_point_type*>(&scheduler::point_of(*scheduler::arena_thread().running));
}

}  // namespace tbb::detail::r1
