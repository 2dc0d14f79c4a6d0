/// What the exported functions ask of the scheduler: spawn, wait, run in an arena.
///
/// Threads: the calling thread acts for itself. Errors: user exceptions pass through wait(), as oneTBB documents.
#pragma once

#include <chrono>

#include "runtime/arena/arena.hpp"
#include "runtime/arena/arena_access.hpp"
#include "runtime/dispatch/bind_context.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

/// Makes the task ready in the calling thread's arena; with an affinity that is an address, in its mailbox too.
void spawn(thread_state& t, task& work, task_group_context& ctx);
void spawn(thread_state& t, task& work, task_group_context& ctx, affinity wished);
/// The same where the domain of the task's data is known: that of the thread in the slot, or another.
void spawn(thread_state& t, task& work, task_group_context& ctx, affinity wished, domain_index home);

/// Makes the task ready in the shared queue of a domain, in the calling thread's arena (TBB-NUMA 4.4.3, detaching).
/// Spawns it where a queue would be of no use: in an isolated region.
void detach(thread_state& t, task& work, task_group_context& ctx, domain_index domain);

/// Waits until the wait context is empty, and runs whatever is there meanwhile, or `first` (may be null) before that.
void run_until_empty(thread_state& t, task* first, wait_context& wait);

/// Whether a task that has done its work may go on with more of the same kind, as if it had been taken anew: the loop
/// that runs it has not what it waits for, and no urgent task is there. To be asked by a running task.
[[nodiscard]] bool may_go_on(const thread_state& t) noexcept;

/// Runs `first` (may be null) and then whatever is there until the wait context is empty; rethrows what `ctx` caught.
void run_and_wait(thread_state& t, task* first, wait_context& wait, task_group_context& ctx);

/// A worker's stay: joins, runs until the arena has no work or wants fewer workers, leaves. Consumes the search mark
/// and the reference that its assignment carried. Returns how long it may wait for the next arena before it sleeps:
/// none if it has looked for work for as long as a thread looks.
[[nodiscard]] std::chrono::nanoseconds work_in_arena(thread_state& t, arena& a) noexcept;

/// Runs `body` in `a`, on this thread if there is a slot for it, otherwise on one that is in the arena; waits for it.
void execute_in_arena(thread_state& t, arena& a, tbb::detail::d1::delegate_base& body);

/// Runs `body` with a new isolation tag, or the given one.
void isolate(thread_state& t, tbb::detail::d1::delegate_base& body, isolation_tag tag);

/// Takes part in the arena until no work is left in it, nor a worker, unless the caller is inside.
void work_until_empty(thread_state& t, arena& a);

/// To be called when a wait context has become empty: wakes whoever sleeps for that address.
void notify_waiters(std::uintptr_t address) noexcept;

}  // namespace homing::scheduler
