/// The tree of task_group_contexts: who is bound to whom, how a cancellation reaches everybody below.
///
/// Each thread lists the contexts that it bound, so that binding never touches a line of another thread. A cancellation
/// marks its own context; if that has children, it locks and walks all lists and marks whoever has it as an ancestor.
///
/// Threads: bind, cancel, is_cancelled, capture_exception, rethrow from any thread; initialize, destroy not concurrent
///          with other uses of the same context; reset by each of several waiters for one group.
/// Protocol: docs/protocols/contexts.md, labels [C1] to [C8].
#pragma once

#include <exception>

#include <oneapi/tbb/task_group.h>

#include "platform/fp_settings.hpp"
#include "runtime/task/task_access.hpp"
#include "sync/owner_lock.hpp"

namespace tbb::detail::r1 {

/// What oneTBB's header calls a context's word for an exception; here the word is a std::exception_ptr's own.
class tbb_exception_ptr;

/// Contexts bound by one thread, newest first. Never freed: a context may outlive its thread.
class context_list {
 public:
  homing::sync::owner_lock lock;             // its owner is the thread whose list it is
  d1::intrusive_list_node* first = nullptr;  // linked through my_node; my_prev_node of the first is null
  context_list* next_list = nullptr;         // all lists of the process; written once, before publication
};

/// The friend that oneTBB's header names.
struct task_group_context_impl {
  using context = d1::task_group_context;

  static void initialize(context& ctx) noexcept;
  static void destroy(context& ctx) noexcept;
  static void reset(context& ctx) noexcept;
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
  /// `mine` is the calling thread's list.
  static void bind(context& ctx, context* parent, context& fallback, context_list& mine) noexcept;

  /// Cancels the group and keeps the exception that is being handled, if the group carries none yet. Needs no memory.
  static void capture_exception(context& ctx) noexcept;

  /// Throws what the context carries, if anything: one of several waiters gets it.
  static void rethrow(context& ctx);

  static bool has_exception(const context& ctx) noexcept {
    return ctx.my_exception.load(homing::sync::relaxed) != nullptr;  // a hint: rethrow() takes it
  }

  /// In the child of a fork, under all locks: of other threads' lists only `current` and its ancestors are kept, in
  /// `mine`. [C8]
  static void keep_after_fork(const context* current, context_list* mine) noexcept;

 private:
  static void bind_first(context& ctx, context* parent, context& fallback, context_list& mine) noexcept;
  static void link_first(context& ctx, context_list& list) noexcept;
  static void unlink(context& ctx) noexcept;
  static void mark_descendants(const context& source, context_list& list) noexcept;
  static context& of_node(d1::intrusive_list_node& node) noexcept;
  static void propagate(context& source) noexcept;
};

}  // namespace tbb::detail::r1

namespace homing::scheduler {

using context_access = tbb::detail::r1::task_group_context_impl;
using context_list = tbb::detail::r1::context_list;

/// The calling thread's list; null while the thread has none. constinit: without it, each use would first ask whether
/// the variable has an initializer to run.
extern constinit thread_local const context_list* contexts_of_this_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// A new list, known to propagate().
context_list& make_context_list();

/// All locks are held over a fork, so that the child's copy is whole. Records' lock is held: no list is added
/// meanwhile.
void lock_contexts_for_fork() noexcept;
void unlock_contexts_after_fork() noexcept;
/// The child forgets what other threads listed, but for the ancestors of `current`. Either may be null.
void unlock_contexts_in_child(const tbb::detail::d1::task_group_context* current, context_list* mine) noexcept;

}  // namespace homing::scheduler
