/// Running a task while tasks are counted or traced, apart from the dispatch loop, which pays one look at a flag for
/// it.
#pragma once

#include <cstdint>

#include "runtime/thread/dispatcher.hpp"

namespace homing::scheduler {

/// Runs or cancels the task as the loop would, counts where it began, and notes it in that thread's trace, if one is
/// made. A stack that is suspended inside the task may move: the trace follows it. The task's exception passes through.
[[gnu::noinline]] task* run_observed(dispatcher& d, task& work, domain_index home);

}  // namespace homing::scheduler
