/// The arena that an application thread is in without having asked for one: made at its first use, left at its end.
///
/// Threads: the calling thread acts for itself.
#pragma once

#include "runtime/arena/worker_supplier.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

/// Enters the thread's implicit arena. Errors: std::bad_alloc, and what making the resource manager throws.
[[gnu::noinline]] thread_state& enter_implicit_arena(thread_state& t);

/// The calling thread's record, in an arena: in the implicit one of an application thread if it is in none.
inline thread_state& arena_thread() {
  thread_state& t = this_thread();
  if (__builtin_expect(t.in == nullptr, false)) {
    return enter_implicit_arena(t);
  }
  return t;
}

/// Leaves the implicit arena, if the thread is in one; the next use enters a new one.
void leave_implicit_arena(thread_state& t, after_use workers) noexcept;

/// True if the thread is in no arena but its implicit one.
[[nodiscard]] bool in_implicit_arena_or_none(const thread_state& t) noexcept;

/// In the child of a fork: a thread outside tasks enters a new implicit arena at its next use; one that is in the
/// middle of something, or has given branches of a fork, goes on in its old arena, alone.
void abandon_arenas_after_fork(thread_state& t) noexcept;

}  // namespace homing::scheduler
