/// The loop on a coroutine's stack, for suspend.cpp.
#pragma once

#include "runtime/thread/dispatcher.hpp"

namespace homing::scheduler {

/// Dispatches until the base stack of the running thread may go on (null), or another stack (its resume task).
task* dispatch_on_coroutine(dispatcher& d);

}  // namespace homing::scheduler
