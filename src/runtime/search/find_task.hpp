/// Where a thread that has run out of its own tasks finds the next one: rules 4 to 6 of TBB-NUMA's figures 5 and 7.
///
/// Threads: the calling thread, in its arena's slot.
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/search/search_round.hpp"

namespace homing::scheduler {

/// A critical task that the thread, and its waiter, may take.
[[nodiscard]] found_task take_critical(thread_state& t, const search_scope& scope, take_permission& may_take) noexcept;

/// A task from mailboxes, shared queues, or another thread's deque; or none after one look everywhere, or as far as
/// how.end says.
[[nodiscard]] found_task find_task(thread_state& t, const search_round& how) noexcept;

}  // namespace homing::scheduler
