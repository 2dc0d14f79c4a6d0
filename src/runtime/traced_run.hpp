/// Running a task while a trace is made, apart from the dispatch loop, which pays one look at a pointer for it.
#pragma once

#include <cstdint>

#include "runtime/dispatcher.hpp"

namespace homing::scheduler {

/// Runs or cancels the task as the loop would, and notes it in the trace of the thread that ends it: a stack that was
/// suspended inside the task may have moved. The task's exception passes through.
[[gnu::noinline]] task* run_traced(dispatcher& d, task& work, std::uint16_t home);

}  // namespace homing::scheduler
