/// What <homing/fork_join.hpp> calls, and the calling thread's lane.
#pragma once

#include "runtime/task/lane.hpp"

namespace homing::scheduler {

/// The calling thread's lane, made if need be. Errors: std::bad_alloc, and what entering an arena throws.
[[nodiscard]] lane& lane_of_this_thread();

}  // namespace homing::scheduler
