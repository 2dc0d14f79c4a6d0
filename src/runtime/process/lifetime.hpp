/// The runtime's end and its copies: finalize, fork.
#pragma once

namespace homing::scheduler {

/// The calling thread leaves its implicit arena, so that it is in nobody's way who finalizes after it. False if it must
/// not: it is a worker, in a task, or in an arena that it has asked for.
bool leave_to_finalize() noexcept;

/// Ends all workers if no thread uses the runtime: true then. Waits for enqueued tasks. The calling thread has left.
/// Source: oneTBB's task_scheduler_handle.
bool finalize_all() noexcept;

/// True if no arena and no worker exists: there is nothing to finalize.
bool nothing_to_finalize() noexcept;

}  // namespace homing::scheduler
