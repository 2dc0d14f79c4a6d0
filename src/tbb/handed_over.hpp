/// The calling thread's record where a task is handed to the library that somebody may wait for already.
///
/// Threads: the calling thread acts for itself. Errors: what arena_thread() throws, after the task has been cancelled.
#pragma once

#include "runtime/process/implicit_arena.hpp"

namespace homing::scheduler {

/// A deferred task may be run by a thread that has never used the library. Without memory for its record the task can't
/// run, and whoever waits for it must not wait for ever. A task that this thread made itself found the record made.
[[gnu::cold, gnu::noinline]] inline thread_state& attach_for(task& handed_over, task_group_context& ctx) {
  try {
    return arena_thread();
  } catch (...) {
    tbb::detail::d1::execution_data ed{};
    ed.context = &ctx;
    ed.original_slot = to_index(no_slot);
    ed.affinity_slot = to_number(no_affinity);
    for (task* t = &handed_over; t != nullptr;) {
      t = t->cancel(ed);
    }
    throw;
  }
}

inline thread_state& thread_for(task& handed_over, task_group_context& ctx) {
  thread_state* t = this_thread_or_null;
  return __builtin_expect(t != nullptr && t->in != nullptr, true) ? *t : attach_for(handed_over, ctx);
}

}  // namespace homing::scheduler
