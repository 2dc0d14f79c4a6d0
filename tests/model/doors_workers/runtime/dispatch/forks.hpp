/// Nobody forks privately here.
#pragma once

#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

struct forks_left_aside {
  explicit forks_left_aside(const thread_state& /*t*/) noexcept {}
};

}  // namespace homing::scheduler
