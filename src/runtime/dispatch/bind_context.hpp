/// A context becomes a child of the one that its thread runs in, when it is first used.
///
/// Threads:  the calling thread acts for itself.
/// Protocol: docs/protocols/contexts.md.
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

/// Binds the context to the calling thread's current one, unless it is bound or isolated already. False if that takes
/// bind_context(), and nothing has been decided.
[[nodiscard]] inline bool bind_own_context(thread_state& t, task_group_context& ctx) noexcept {
  const dispatcher& d = *t.running;
  return context_access::is_bound_or_isolated(ctx) ||
         (!d.outermost && context_access::bind_own(ctx, d.ed.context, t.in->default_context(), *t.contexts));
}

/// The same for any context.
inline void bind_context(thread_state& t, task_group_context& ctx) noexcept {
  if (__builtin_expect(!bind_own_context(t, ctx), false)) {
    const dispatcher& d = *t.running;
    context_access::bind(ctx, d.outermost ? nullptr : d.ed.context, t.in->default_context());
  }
}

}  // namespace homing::scheduler
