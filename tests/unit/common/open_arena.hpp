/// A task_arena that shows which arena it stands for.
#pragma once

#include <oneapi/tbb/task_arena.h>

namespace homing::testing {

struct open_arena : tbb::task_arena {
  using task_arena::task_arena;
  [[nodiscard]] const void* stands_for() const { return my_arena.load(); }
};

}  // namespace homing::testing
