/// The arena that a task_arena object stands for now: in the child of a fork another one than before it.
///
/// Threads:   any.
/// Errors:    std::bad_alloc where a new one has to be made.
/// Protocols: docs/protocols/arena.md [A21], [A29].
#pragma once

#include <oneapi/tbb/task_arena.h>

#include "runtime/arena/arena.hpp"

namespace homing::scheduler {

/// The arena, or what takes its place if it was left behind in a fork: the same one for all who ask.
[[nodiscard]] arena& live_arena(arena& a);

/// Null: the object has none.
[[nodiscard]] arena* live_arena_of(tbb::detail::d1::task_arena_base& user);
/// The same, but null where one would have to be made.
[[nodiscard]] arena* known_arena_of(const tbb::detail::d1::task_arena_base& user) noexcept;

/// An object no longer stands for it.
void drop_user_of(arena& a) noexcept;

}  // namespace homing::scheduler
