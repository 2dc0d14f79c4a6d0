/// The runtime's end and its copies: finalize, fork.
#pragma once

namespace homing::scheduler {

/// Ends all workers if the calling thread is the only one that uses the runtime and is in no task or arena: true then.
/// Waits for enqueued tasks. Leaves the calling thread's implicit arena. Source: oneTBB's task_scheduler_handle.
bool finalize_all() noexcept;

/// True if no arena and no worker exists: there is nothing to finalize.
bool nothing_to_finalize() noexcept;

}  // namespace homing::scheduler
