/// What a thread that looks for work may take, and what it is called for.
///
/// Threads:   values; no state.
/// Protocols: docs/protocols/sleep.md [S4], [S13], [S14].
/// Source:    oneTBB's documentation of isolation, enqueued and critical tasks.
#pragma once

#include <cstdint>

#include "runtime/task/task_access.hpp"

namespace homing::scheduler {

/// Mail and resumed stacks are for every thread; all else has a condition.
struct search_scope {
  isolation_tag isolation = no_isolation;
  bool may_steal = true;       ///< from other threads' deques; not from deep in a stack: each steal could wait in turn
  bool takes_enqueued = true;  ///< not in a wait on top of a task, which may hold what the enqueued one needs
  bool takes_critical = true;  ///< not while a critical task runs: they do not nest

  /// Whether pushers rely on it. Others are called by name, and hand a call on that they have no use for. [S13]
  [[nodiscard]] bool is_counted() const noexcept { return isolation == no_isolation && may_steal && takes_critical; }
  [[nodiscard]] bool fits(isolation_tag of_the_work) const noexcept {
    return isolation == no_isolation || isolation == of_the_work;
  }
};

/// A count of searching threads is two counts in one word: of those that take enqueued tasks too, and of those in
/// nested waits, which don't. [S14]
inline constexpr int outer_searcher = 1;
inline constexpr int nested_searcher = 1 << 16;

/// By how much a counted thread raises the counts.
[[nodiscard]] inline int weight_of(const search_scope& scope) noexcept {
  return scope.takes_enqueued ? outer_searcher : nested_searcher;
}
[[nodiscard]] inline int outer_searchers(int counts) noexcept { return counts & (nested_searcher - 1); }
[[nodiscard]] inline int all_searchers(int counts) noexcept {
  return outer_searchers(counts) + counts / nested_searcher;
}

/// What somebody is called for.
enum class work_kind : std::uint8_t {
  spawned,   ///< in a thread's deque
  mailed,    ///< in a mailbox, and in a deque
  detached,  ///< in a domain's queue, by whoever waits for it
  enqueued,  ///< in a queue, for outermost loops only
  critical,
  resumed,  ///< a stack
  unknown,  ///< on somebody else's behalf: whatever is there
};

/// Of counted searchers, those that may surely take it.
[[nodiscard]] inline int able_searchers(work_kind kind, int counts) noexcept {
  return kind == work_kind::enqueued || kind == work_kind::unknown ? outer_searchers(counts) : all_searchers(counts);
}

/// Threads of which domains are of use: of the home of the work, or of all, that one first.
enum class reach : bool { home, all };

struct work_call {
  work_kind kind = work_kind::unknown;
  isolation_tag isolation = no_isolation;  ///< of the task, where the kind has one
  domain_index home{};                     ///< to call first
};

}  // namespace homing::scheduler
