/// What the manager asks of dispatching; the models have a small one.
#pragma once

#include <chrono>

#include "runtime/arena/arena.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

[[nodiscard]] std::chrono::nanoseconds work_in_arena(thread_state& t, arena& a) noexcept;
void work_until_empty(thread_state& t, arena& a);

}  // namespace homing::scheduler
