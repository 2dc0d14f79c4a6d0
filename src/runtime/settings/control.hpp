/// global_control: the live controls of each parameter, and the value that is in force.
///
/// Threads: any. Source: oneTBB's documentation of global_control (which of several controls wins).
#pragma once

#include <cstddef>

#include <oneapi/tbb/global_control.h>

namespace homing::scheduler {

/// True if a user exception must end the program at once.
bool terminate_on_exception() noexcept;

/// More threads than this are never made; who asks for more is told so.
inline constexpr std::size_t parallelism_max = 4096;

inline constexpr std::size_t stack_bytes_min = 64 * 1024;

/// Bytes of stack for a new worker or coroutine: what its user wants, and at least so many.
std::size_t thread_stack_size() noexcept;

/// True if workers leave an arena as soon as it has no work.
bool fast_leave_everywhere() noexcept;

/// Threads that may run tasks, the application's one included.
std::size_t max_allowed_parallelism() noexcept;

/// What max_allowed_parallelism() is without a control: the machine may have changed [A19]. 0: as it was at the start.
void set_default_parallelism(unsigned threads) noexcept;

}  // namespace homing::scheduler
