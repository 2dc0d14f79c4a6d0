/// The tree of task_group_contexts: who is bound to whom, how a cancellation reaches everybody below.
///
/// A context is listed, once it is bound, by the thread that made it, which binds and ends nearly all of them: neither
/// costs a locked operation then. A cancellation marks its own context; if that has children, it locks and walks all
/// lists and marks whoever has it as an ancestor.
///
/// Threads: bind, cancel, is_cancelled, keep_exception, rethrow from any thread; initialize, destroy not concurrent
///          with other uses of the same context; reset by each of several waiters for one group.
/// Protocol: docs/protocols/contexts.md, labels [C1] to [C10].
#pragma once

#include <exception>

#include <oneapi/tbb/task_group.h>

#include "memory/small_object_pool.hpp"
#include "platform/fp_settings.hpp"
#include "runtime/task/cancel_marks.hpp"
#include "runtime/task/exception_word.hpp"
#include "runtime/task/task_access.hpp"
#include "sync/owner_lock.hpp"
#include "sync/per_thread.hpp"

namespace homing::scheduler {
/// The process's.
extern constinit cancel_marks::fences bind_fences __attribute__((visibility("hidden")));
}  // namespace homing::scheduler

namespace tbb::detail::r1 {

/// What oneTBB's header calls a context's word for an exception; here the word is a std::exception_ptr's own.
class tbb_exception_ptr;

/// Contexts made by one thread and bound since, newest first. Never freed: a context may outlive its thread.
class context_list {
 public:
  homing::sync::owner_lock lock;             // its owner is the thread whose list it is
  d1::intrusive_list_node* first = nullptr;  // linked through my_node; my_prev_node of the first is null
  context_list* next_list = nullptr;         // all lists of the process; guarded by the lock of propagations
};

/// The friend that oneTBB's header names.
struct task_group_context_impl {
  using context = d1::task_group_context;

  static void initialize(context& ctx) noexcept;
  static void destroy(context& ctx) noexcept;
  static void reset(context& ctx) noexcept {
    // One branch for what hardly ever is.
    if (__builtin_expect(is_cancelled(ctx) || has_exception(ctx), false)) {
      reset_used(ctx);
    }
  }
  static bool cancel(context& ctx) noexcept;
  static void capture_fp(context& ctx) noexcept;

  static bool is_cancelled(const context& ctx) noexcept {
    return ctx.my_cancellation_requested.load(homing::sync::relaxed) != 0;
  }

  static homing::platform::fp_settings fp(const context& ctx) noexcept {
    return homing::platform::fp_settings{ctx.my_cpu_ctl_env};
  }

  static bool is_bound_or_isolated(const context& ctx) noexcept {
    // acquire: whoever bound it wrote parent, settings and list before its release in bind().
    return ctx.my_state.load(homing::sync::acquire) > context::state::locked;
  }

  /// Makes the context a child of `parent`; the first call decides. Isolated: if it wants that, or `parent` is null or
  /// `fallback`, the arena's own context. That one gives floating-point settings to an isolated one that captured none.
  static void bind(context& ctx, context* parent, context& fallback) noexcept;

  /// The same where it costs no locked operation: the calling thread has made the context, and it will be a child.
  /// False: nothing is decided yet, and bind() must be called. `mine` is the calling thread's list.
  [[nodiscard]] static bool bind_own(context& ctx, context* parent, const context& fallback,
                                     context_list& mine) noexcept {
    if (__builtin_expect(ctx.my_context_list != &mine || !makes_child(ctx, parent, fallback), false)) {
      return false;
    }
    become_parent(*parent);
    if (!mine.lock.try_lock_as_owner()) {  // [C1] its fence comes behind the parent's mark
      return false;
    }
    homing::scheduler::bind_fences.of_binder();
    // [C9] relaxed: written under this lock.
    if (__builtin_expect(ctx.my_state.load(homing::sync::relaxed) == context::state::created, true)) {
      become_child(ctx, *parent);
    }
    mine.lock.unlock_own();
    return true;
  }

  /// In a handler: the exception that is being handled, for keep_exception() behind it. Needs no memory.
  [[nodiscard]] static tbb_exception_ptr* take_current_exception() noexcept;
  /// Cancels the group and keeps the exception, if the group carries none yet. Outside of its handler, whose
  /// end could free the exception under a waiter that handles it. [C6]
  static void keep_exception(context& ctx, tbb_exception_ptr* thrown) noexcept;
  /// What `body` throws goes into `ctx`.
  template <typename Body>
  static void run_into(context& ctx, Body&& body) {
    tbb_exception_ptr* thrown = nullptr;
    try {
      body();
      return;
    } catch (...) {
      thrown = take_current_exception();
    }
    keep_exception(ctx, thrown);
  }

  /// Throws what the context carries, if anything: one of several waiters gets it.
  static void rethrow(context& ctx);

  static bool has_exception(const context& ctx) noexcept {
    return homing::scheduler::exception_word::is_full(ctx.my_exception);  // a hint: rethrow() takes it
  }

  /// In the child of a fork, under all locks: what may be on stacks that are no more is taken off its list. [C8]
  static void keep_after_fork(const context* current, context_list* mine) noexcept;

 private:
  static void reset_used(context& ctx) noexcept;
  static void destroy_with_care(context& ctx) noexcept;

  /// [C5] An arena's own context may die before a context that an enqueued task uses first: it is nobody's parent.
  static bool makes_child(const context& ctx, const context* parent, const context& fallback) noexcept {
    return parent != nullptr && parent != &fallback && ctx.my_traits.bound;
  }
  static void become_parent(context& ctx) noexcept {
    static_assert(context::may_have_children == homing::scheduler::cancel_marks::has_children);
    homing::scheduler::cancel_marks::become_parent(ctx.my_may_have_children);
  }
  /// Under the lock of its list, and a light fence behind become_parent().
  static void become_child(context& ctx, context& parent) noexcept {
    ctx.my_parent = &parent;
    if (!ctx.my_traits.fp_settings) {
      ctx.my_cpu_ctl_env = parent.my_cpu_ctl_env;
    }
    link_first(ctx);
    // [C2] Listed and looked under one lock: a walk comes before both, and its marks are seen, or after both.
    homing::scheduler::cancel_marks::inherit(ctx.my_cancellation_requested, parent.my_cancellation_requested);
    // release: whoever finds it bound sees parent, settings and mark.
    ctx.my_state.store(context::state::bound, homing::sync::release);
  }
  static void link_first(context& ctx) noexcept {
    context_list& list = *ctx.my_context_list;
    ctx.my_node.my_prev_node = nullptr;
    ctx.my_node.my_next_node = list.first;
    if (list.first != nullptr) {
      list.first->my_prev_node = &ctx.my_node;
    }
    list.first = &ctx.my_node;
  }
  static void unlink(context& ctx) noexcept;
  static bool is_or_is_above(const context& ctx, const context* below) noexcept;
  static bool survives_fork(const context& ctx, const context* current, const context_list* mine) noexcept;
  static void mark_descendants(const context& source, context_list& list) noexcept;
  static context& of_node(d1::intrusive_list_node& node) noexcept;
  static void propagate(context& source) noexcept;
};

}  // namespace tbb::detail::r1

namespace homing::scheduler {

using context_access = tbb::detail::r1::task_group_context_impl;
using context_list = tbb::detail::r1::context_list;

/// The calling thread's list; null while the thread has none.
[[nodiscard]] inline context_list*& contexts_of_this_thread() noexcept {
  return sync::per_thread<context_list*, context_list>();
}

/// A new list in that memory, known to propagate(), and for good. Throws std::bad_alloc.
context_list& make_context_list(homing::memory::object_pool& memory);

/// All locks are held over a fork, so that the child's copy is whole. Records' lock is held: no list is added
/// meanwhile.
void lock_contexts_for_fork() noexcept;
void unlock_contexts_after_fork() noexcept;
/// The child forgets what other threads listed, but for the ancestors of `current`. Either may be null.
void unlock_contexts_in_child(const tbb::detail::d1::task_group_context* current, context_list* mine) noexcept;

}  // namespace homing::scheduler
