/// Suspended tasks: a stack that waits, and how a thread comes back to it.
///
/// Every dispatcher runs on one stack. A thread that suspends leaves its stack for another, a coroutine's, and goes on
/// dispatching there. A base stack (the one with which a thread entered its arena) is only ever continued by that
/// thread; a coroutine's by any thread of the arena.
///
/// Protocol: docs/protocols/suspend.md [U1] to [U10]. Source: oneTBB's documentation of resumable tasks.
#pragma once

#include "runtime/stack/suspend_point.hpp"

namespace tbb::detail::r1 {
struct suspend_point_type;
}

namespace homing::scheduler {

using suspend_callback = void (*)(void*, tbb::detail::r1::suspend_point_type*);

/// Calls back, as a part of the running task, leaves the stack, and returns when somebody has resumed the point, be it
/// before the stack was left. What the callback throws, it throws, and suspends nothing. Throws std::bad_alloc or
/// std::system_error if no stack can be had; nothing has been called then.
void suspend(thread_state& t, suspend_callback callback, void* argument);

}  // namespace homing::scheduler
