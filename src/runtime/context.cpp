#include "runtime/context.hpp"

#include <cstddef>
#include <mutex>

#include "runtime/control.hpp"

namespace {

namespace sync = homing::sync;

std::mutex propagation;

/// Odd while a cancellation walks the lists.
sync::atomic<std::uint64_t> propagation_epoch{0};

sync::atomic<tbb::detail::r1::context_list*> all_lists{nullptr};

}  // namespace

namespace tbb::detail::r1 {

void task_group_context_impl::initialize(context& ctx) noexcept {
  ctx.my_cpu_ctl_env = 0;
  ctx.my_cancellation_requested.store(0, sync::relaxed);
  ctx.my_may_have_children.store(0, sync::relaxed);
  ctx.my_parent = nullptr;
  ctx.my_context_list = nullptr;
  ctx.my_node.my_next_node = nullptr;
  ctx.my_node.my_prev_node = nullptr;
  ctx.my_exception.store(nullptr, sync::relaxed);
  ctx.my_itt_caller = nullptr;
  if (ctx.my_traits.fp_settings) {
    capture_fp(ctx);
  }
  // release: a context is often handed to other threads without more ado.
  ctx.my_state.store(context::state::created, sync::release);
}

void task_group_context_impl::destroy(context& ctx) noexcept {
  if (ctx.my_context_list != nullptr) {
    context_list& list = *ctx.my_context_list;
    const sync::scoped_spin_lock hold(list.lock);  // [C4] no walk is looking at this context, nor at its parents
    auto& node = ctx.my_node;
    if (node.my_prev_node != nullptr) {
      node.my_prev_node->my_next_node = node.my_next_node;
    } else {
      list.first = node.my_next_node;
    }
    if (node.my_next_node != nullptr) {
      node.my_next_node->my_prev_node = node.my_prev_node;
    }
  }
  if (auto* exception = ctx.my_exception.load(sync::relaxed)) {
    delete exception;
  }
  ctx.my_state.store(context::state::dead, sync::relaxed);
}

void task_group_context_impl::reset(context& ctx) noexcept {
  if (auto* exception = ctx.my_exception.load(sync::relaxed)) {
    ctx.my_exception.store(nullptr, sync::relaxed);
    delete exception;
  }
  if (ctx.my_cancellation_requested.load(sync::relaxed) != 0) {
    ctx.my_cancellation_requested.store(0, sync::relaxed);
  }
}

void task_group_context_impl::capture_fp(context& ctx) noexcept {
  ctx.my_traits.fp_settings = true;
  ctx.my_cpu_ctl_env = homing::platform::fp_settings::of_this_thread().word();
}

void task_group_context_impl::bind(context& ctx, context* parent, const context& fallback,
                                   context_list& mine) noexcept {
  auto expected = context::state::created;
  // acquire: what initialize() wrote. The winner binds, others wait for its release below.
  if (!ctx.my_state.compare_exchange_strong(expected, context::state::locked, sync::acquire, sync::acquire)) {
    while (!is_bound_or_isolated(ctx)) {
      sync::cpu_relax();
    }
    return;
  }
  if (parent == nullptr || !ctx.my_traits.bound) {
    if (!ctx.my_traits.fp_settings) {
      ctx.my_cpu_ctl_env = fallback.my_cpu_ctl_env;
    }
    ctx.my_state.store(context::state::isolated, sync::release);
    return;
  }
  ctx.my_parent = parent;
  if (!ctx.my_traits.fp_settings) {
    ctx.my_cpu_ctl_env = parent->my_cpu_ctl_env;
  }
  // [C1] The parent says that it has children before this one reads whether it is cancelled; partner C3.
  if (parent->my_may_have_children.load(sync::relaxed) != context::may_have_children) {
    parent->my_may_have_children.store(context::may_have_children, sync::seq_cst);
  }
  const std::uint64_t before = propagation_epoch.load(sync::seq_cst);
  {
    const sync::scoped_spin_lock hold(mine.lock);
    ctx.my_context_list = &mine;
    ctx.my_node.my_next_node = mine.first;
    if (mine.first != nullptr) {
      mine.first->my_prev_node = &ctx.my_node;
    }
    mine.first = &ctx.my_node;
  }
  // [C2] The listing before the looks at epoch and parent; partner C3 (epoch, then the lists).
  sync::full_fence();
  const std::uint64_t after = propagation_epoch.load(sync::seq_cst);
  if (before != after || (before & 1U) != 0) {
    // A walk overlaps: it may have passed this list before and the parent not yet. Wait for its end.
    const std::lock_guard wait(propagation);
    ctx.my_cancellation_requested.store(parent->my_cancellation_requested.load(sync::relaxed), sync::relaxed);
  } else if (parent->my_cancellation_requested.load(sync::seq_cst) != 0) {
    ctx.my_cancellation_requested.store(1, sync::relaxed);
  }
  ctx.my_state.store(context::state::bound, sync::release);
}

bool task_group_context_impl::cancel(context& ctx) noexcept {
  // [C3] seq_cst: the mark before the look for children; partner C1 (children, then the parent's mark).
  if (ctx.my_cancellation_requested.load(sync::relaxed) != 0 ||
      ctx.my_cancellation_requested.exchange(1, sync::seq_cst) != 0) {
    return false;
  }
  if (ctx.my_may_have_children.load(sync::seq_cst) == context::may_have_children) {
    propagate(ctx);
  }
  return true;
}

task_group_context_impl::context& task_group_context_impl::of_node(d1::intrusive_list_node& node) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  return *reinterpret_cast<context*>(reinterpret_cast<char*>(&node) - offsetof(context, my_node));
#pragma GCC diagnostic pop
}

void task_group_context_impl::propagate(context& source) noexcept {
  const std::lock_guard one_at_a_time(propagation);
  propagation_epoch.fetch_add(1, sync::seq_cst);
  for (auto* list = all_lists.load(sync::acquire); list != nullptr; list = list->next_list) {
    const sync::scoped_spin_lock hold(list->lock);
    for (auto* node = list->first; node != nullptr; node = node->my_next_node) {
      context& start = of_node(*node);
      // [C5] A listed context's ancestors live: a parent outlives its children, and destroy() takes this lock.
      for (context* a = start.my_parent; a != nullptr; a = a->my_parent) {
        if (a == &source) {
          for (context* c = &start; c != &source; c = c->my_parent) {
            c->my_cancellation_requested.store(1, sync::relaxed);
          }
          break;
        }
      }
    }
  }
  propagation_epoch.fetch_add(1, sync::seq_cst);
}

void task_group_context_impl::capture_exception(context& ctx) noexcept {
  if (homing::scheduler::terminate_on_exception()) {
    std::terminate();
  }
  if (cancel(ctx)) {
    // release: a waiter that sees the pointer sees what it points to (rethrow).
    ctx.my_exception.store(new tbb_exception_ptr{std::current_exception()}, sync::release);
  }
}

void task_group_context_impl::rethrow(context& ctx) {
  if (auto* exception = ctx.my_exception.load(sync::acquire)) {
    std::rethrow_exception(exception->held);
  }
}

}  // namespace tbb::detail::r1

namespace homing::scheduler {

context_list& make_context_list() {
  auto* list = new context_list;
  list->next_list = all_lists.load(sync::relaxed);
  // release: publishes the list to propagate()'s acquire.
  while (!all_lists.compare_exchange_weak(list->next_list, list, sync::release, sync::relaxed)) {
  }
  return *list;
}

void forget_context_lists_after_fork(context_list* mine) noexcept {
  if (mine != nullptr) {
    mine->next_list = nullptr;
  }
  all_lists.store(mine, sync::relaxed);
}

void lock_contexts_for_fork() noexcept { propagation.lock(); }
void unlock_contexts_after_fork() noexcept { propagation.unlock(); }

}  // namespace homing::scheduler
