/// Exported: spawn, wait, the current task and context, suspend and resume.
#include <oneapi/tbb/detail/_task.h>

#include "runtime/dispatch.hpp"
#include "runtime/suspend.hpp"

namespace tbb::detail::r1 {

namespace runtime = homing::runtime;

void spawn(d1::task& t, d1::task_group_context& ctx) { runtime::spawn(runtime::arena_thread(), t, ctx); }

void spawn(d1::task& t, d1::task_group_context& ctx, d1::slot_id id) {
  runtime::spawn(runtime::arena_thread(), t, ctx, id);
}

void execute_and_wait(d1::task& t, d1::task_group_context& t_ctx, d1::wait_context& wait,
                      d1::task_group_context& w_ctx) {
  runtime::thread_state& thread = runtime::arena_thread();
  runtime::bind_context(thread, t_ctx);
  runtime::task_access::set_context(t, &t_ctx);
  runtime::run_and_wait(thread, &t, wait, w_ctx);
}

void wait(d1::wait_context& wait, d1::task_group_context& ctx) {
  runtime::run_and_wait(runtime::arena_thread(), nullptr, wait, ctx);
}

d1::slot_id execution_slot(const d1::execution_data*) {
  const runtime::thread_state* t = runtime::this_thread_or_null;
  return t == nullptr || t->in == nullptr ? d1::no_slot : t->slot_number;
}

d1::task_group_context* current_context() {
  const runtime::thread_state* t = runtime::this_thread_or_null;
  return t == nullptr || t->in == nullptr || t->running->outermost ? nullptr : t->running->ed.context;
}

d1::task* current_task_ptr() {
  const runtime::thread_state* t = runtime::this_thread_or_null;
  return t == nullptr || t->in == nullptr || t->running->outermost ? nullptr : t->running->current;
}

d1::wait_tree_vertex_interface* get_thread_reference_vertex(d1::wait_tree_vertex_interface* vertex) { return vertex; }

void notify_waiters(std::uintptr_t wait_ctx_addr) { runtime::notify_waiters(wait_ctx_addr); }

void suspend(suspend_callback_type callback, void* argument) {
  runtime::suspend(runtime::arena_thread(), callback, argument);
}

void resume(suspend_point_type* tag) { runtime::resume(*reinterpret_cast<runtime::suspend_point*>(tag)); }

suspend_point_type* current_suspend_point() {
  return reinterpret_cast<suspend_point_type*>(&runtime::point_of(*runtime::arena_thread().running));
}

}  // namespace tbb::detail::r1
