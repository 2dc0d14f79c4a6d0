/// From one stack to another: what is done for the stack that was left, once the next one runs.
///
/// Threads:  the calling thread, which may be another when a call returns.
/// Protocol: docs/protocols/suspend.md [U2], [U5], [U9].
#pragma once

#include "runtime/arena/arena_access.hpp"
#include "runtime/stack/suspend_point.hpp"

namespace homing::scheduler {

/// Why a stack that was left in a nested wait goes on: the wait is over, perhaps; or it was called for a task, and owes
/// a look. [S13]
enum class leave_result : std::uint8_t { over, called };

/// Continues the stack of a resume task on this thread; returns when this stack goes on, perhaps on another thread.
/// `wait` is what a nested loop on this stack waits for, or null; `scope` what it may take meanwhile.
leave_result run_resume_task(thread_state& t, task& resume_task, wait_context* wait,
                             const search_scope& scope) noexcept;

/// Leaves a coroutine's stack for the recalled base of its thread, until the wait context is empty or there is a task
/// that only this stack may take.
leave_result yield_until_empty(thread_state& t, wait_context& wait, const search_scope& scope) noexcept;

/// Returns when somebody has switched back to `from`.
void switch_stacks(thread_state& t, suspend_point& from, suspend_point& to, const after_switch_action& after);

/// [U2] What was asked for when the last stack was left is done from the next one: only now is the old one whole.
void finish_switch(thread_state& t);

}  // namespace homing::scheduler
