/// A context becomes a child of the one that its thread runs in, when it is first used.
///
/// Threads:  the calling thread acts for itself.
/// Protocol: docs/protocols/contexts.md.
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

/// Binds the context to the calling thread's current one, unless it is bound or isolated already.
inline void bind_context(thread_state& t, task_group_context& ctx) noexcept {
  if (!context_access::is_bound_or_isolated(ctx)) {
    const dispatcher& d = *t.running;
    context_access::bind(ctx, d.outermost ? nullptr : d.ed.context, t.in->default_context(), *t.contexts);
  }
}

}  // namespace homing::scheduler
