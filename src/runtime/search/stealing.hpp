/// Tasks of other threads: rule 6 of TBB-NUMA's figures 5 and 7, from near to far.
///
/// Threads:   the calling thread, in its arena's slot.
/// Protocols: docs/protocols/deque.md, fork_lane.md [F4], [F6], [F10], mailbox.md [M9], sleep.md [S10].
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/search/search_round.hpp"

namespace homing::scheduler {

/// A task of another thread's, or null after one look at as many as `how` says. Others that were stolen with it are in
/// the own deque. Timed now and then: what a steal costs decides when the next one is due.
[[nodiscard]] task* steal(thread_state& t, const search_round& how);

/// A search begins that will probably steal at once: chooses whom it will look at first, and asks for the lines of that
/// deque. They are on their way from their owner's cache while the thread looks elsewhere.
void expect_steal(thread_state& t) noexcept;

}  // namespace homing::scheduler
