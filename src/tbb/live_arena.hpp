/// The arena that a task_arena object stands for now: in the child of a fork another one than before it.
///
/// Threads:   any.
/// Errors:    std::bad_alloc where a new one has to be made.
/// Protocols: docs/protocols/arena.md [A21], [A29].
#pragma once

#include <oneapi/tbb/task_arena.h>

#include "runtime/arena/arena.hpp"

namespace homing::scheduler {

/// In the child of a fork: an arena of before it, unless the calling thread is in it.
[[nodiscard]] bool is_left_behind(const arena& a) noexcept;

/// What takes its place if it is left behind: the same one for all who ask.
[[nodiscard]] arena& live_arena(arena& a);

/// Null: the object has none.
[[nodiscard]] arena* live_arena_of(tbb::detail::d1::task_arena_base& user);

/// An object no longer stands for an arena that is left behind.
void let_go_of_left_behind(arena& a) noexcept;

}  // namespace homing::scheduler
