#include "runtime/task/context.hpp"

#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "platform/check.hpp"
#include "platform/clock.hpp"
#include "runtime/settings/control.hpp"
#include "runtime/task/lane.hpp"
#include "sync/mutex.hpp"

namespace {

namespace sync = homing::sync;

using tbb::detail::r1::context_list;

/// One at a time locks all lists; and no list is added meanwhile. Guards `all_lists`.
constinit sync::mutex propagation;

/// Of contexts made by threads without a list of their own. It has no owner: for everybody it is another's.
constinit context_list strangers;

constinit context_list* all_lists = &strangers;

bool is_mine(const context_list& list) noexcept { return &list == homing::scheduler::contexts_of_this_thread(); }

/// Under `propagation`.
template <typename Call>
void for_each_list(Call&& call) {
  for (context_list* list = all_lists; list != nullptr; list = list->next_list) {
    call(*list);
  }
}

/// One heavy fence for all.
void lock_all_lists() noexcept {
  bool some_were_their_owners = false;
  for_each_list([&](context_list& list) { some_were_their_owners |= list.lock.begin_lock_as_other(); });
  if (some_were_their_owners) {
    sync::heavy_fence();
  }
  for_each_list([](context_list& list) { list.lock.end_lock_as_other(); });
}

void unlock_all_lists() noexcept {
  for_each_list([](context_list& list) { list.lock.unlock_as_other(); });
}

// A context has one word for its exception. An exception_ptr is one pointer, so it is kept there itself: nothing needs
// memory while an exception is under way.
using tbb::detail::r1::tbb_exception_ptr;
static_assert(sizeof(std::exception_ptr) == sizeof(tbb_exception_ptr*));

/// The word owns what `held` did.
tbb_exception_ptr* to_word(std::exception_ptr&& held) noexcept {
  alignas(std::exception_ptr) std::byte bytes[sizeof(std::exception_ptr)];
  new (bytes) std::exception_ptr(std::move(held));  // never destroyed: its reference goes on in the word
  tbb_exception_ptr* word = nullptr;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

std::exception_ptr from_word(tbb_exception_ptr* word) noexcept {
  alignas(std::exception_ptr) std::byte bytes[sizeof(std::exception_ptr)];
  new (bytes) std::exception_ptr;
  std::memcpy(bytes, &word, sizeof word);
  auto* held = std::launder(reinterpret_cast<std::exception_ptr*>(bytes));
  std::exception_ptr taken(std::move(*held));
  held->~exception_ptr();
  return taken;
}

namespace exception_word = homing::scheduler::exception_word;

/// [C6] The caller has the exception, and nobody else.
std::exception_ptr take_exception(sync::atomic<tbb_exception_ptr*>& place) noexcept {
  return from_word(exception_word::take(place));
}

}  // namespace

namespace tbb::detail::r1 {

void task_group_context_impl::initialize(context& ctx) noexcept {
  ctx.my_cpu_ctl_env = 0;
  ctx.my_cancellation_requested.store(0, sync::relaxed);
  ctx.my_may_have_children.store(0, sync::relaxed);
  ctx.my_parent = nullptr;
  context_list* const mine = homing::scheduler::contexts_of_this_thread();
  ctx.my_context_list = mine != nullptr ? mine : &strangers;  // [C9]
  ctx.my_exception.store(nullptr, sync::relaxed);
  if (ctx.my_traits.fp_settings) {
    capture_fp(ctx);
  }
  // relaxed: whoever hands a context to other threads hands over all of it.
  ctx.my_state.store(context::state::created, sync::relaxed);
}

/// Under the list's lock.
void task_group_context_impl::unlink(context& ctx) noexcept {
  context_list& list = *ctx.my_context_list;
  const auto& node = ctx.my_node;
  homing::platform::require_hot(
      [&] { return (node.my_prev_node != nullptr ? node.my_prev_node->my_next_node : list.first) == &node; },
      "C4: a context that is bound is on its list");
  if (node.my_prev_node != nullptr) {
    node.my_prev_node->my_next_node = node.my_next_node;
  } else {
    list.first = node.my_next_node;
  }
  if (node.my_next_node != nullptr) {
    node.my_next_node->my_prev_node = node.my_prev_node;
  }
}

void task_group_context_impl::destroy(context& ctx) noexcept {
  if (__builtin_expect(has_exception(ctx), false)) {
    destroy_with_care(ctx);
    return;
  }
  // relaxed: whoever ends a context comes after all who use it.
  if (ctx.my_state.load(sync::relaxed) == context::state::bound) {
    context_list* const list = ctx.my_context_list;
    if (list == nullptr || !is_mine(*list) || !list->lock.try_lock_as_owner()) {
      destroy_with_care(ctx);
      return;
    }
    unlink(ctx);  // [C4] no walk is looking at this context, nor at its parents
    list->lock.unlock_own();
  }
  ctx.my_state.store(context::state::dead, sync::relaxed);
}

/// Whoever calls, and whatever the context carries.
[[gnu::cold, gnu::noinline]] void task_group_context_impl::destroy_with_care(context& ctx) noexcept {
  if (ctx.my_state.load(sync::relaxed) == context::state::bound && ctx.my_context_list != nullptr) {
    const sync::scoped_owner_lock hold(ctx.my_context_list->lock, is_mine(*ctx.my_context_list));  // [C4]
    unlink(ctx);
  }
  if (has_exception(ctx)) {
    static_cast<void>(take_exception(ctx.my_exception));
  }
  ctx.my_state.store(context::state::dead, sync::relaxed);
}

[[gnu::cold, gnu::noinline]] void task_group_context_impl::reset_used(context& ctx) noexcept {
  static_cast<void>(from_word(exception_word::take_at_reset(ctx.my_exception, ctx.my_traits.concurrent_wait)));  // [C7]
  if (ctx.my_cancellation_requested.load(sync::relaxed) != 0) {
    ctx.my_cancellation_requested.store(0, sync::relaxed);
  }
}

void task_group_context_impl::capture_fp(context& ctx) noexcept {
  ctx.my_traits.fp_settings = true;
  ctx.my_cpu_ctl_env = homing::platform::fp_settings::of_this_thread().word();
}

void task_group_context_impl::bind(context& ctx, context* parent, context& fallback) noexcept {
  // [C9] Whoever comes first with its list's lock decides. A fork holds all lists' locks: its child never finds a
  // context between two states.
  const sync::scoped_owner_lock hold(ctx.my_context_list->lock, is_mine(*ctx.my_context_list));
  // relaxed: written under this lock.
  if (ctx.my_state.load(sync::relaxed) != context::state::created) {
    return;
  }
  if (makes_child(ctx, parent, fallback)) {
    become_parent(*parent);
    sync::light_fence();  // [C1] the parent's children, then its mark; partner C3
    homing::scheduler::bind_fences.of_binder();
    become_child(ctx, *parent);
    return;
  }
  if (!ctx.my_traits.fp_settings) {
    ctx.my_cpu_ctl_env = fallback.my_cpu_ctl_env;
  }
  // release: whoever finds it isolated sees the settings.
  ctx.my_state.store(context::state::isolated, sync::release);
}

bool task_group_context_impl::cancel(context& ctx) noexcept {
  if (!homing::scheduler::cancel_marks::cancel(ctx.my_cancellation_requested, ctx.my_may_have_children,
                                               homing::scheduler::bind_fences, homing::platform::monotonic_ns,
                                               [&] { propagate(ctx); })) {
    return false;
  }
  homing::scheduler::ask_all_lanes();  // [F5] after all marks
  return true;
}

task_group_context_impl::context& task_group_context_impl::of_node(d1::intrusive_list_node& node) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  return *reinterpret_cast<context*>(reinterpret_cast<char*>(&node) - offsetof(context, my_node));
#pragma GCC diagnostic pop
}

void task_group_context_impl::mark_descendants(const context& source, context_list& list) noexcept {
  for (auto* node = list.first; node != nullptr; node = node->my_next_node) {
    context& start = of_node(*node);
    // [C5] A listed context's ancestors live: a parent outlives its children, and destroy() takes this lock.
    for (const context* a = start.my_parent; a != nullptr; a = a->my_parent) {
      if (a == &source) {
        for (context* c = &start; c != &source; c = c->my_parent) {
          c->my_cancellation_requested.store(1, sync::relaxed);
        }
        break;
      }
    }
  }
}

void task_group_context_impl::propagate(context& source) noexcept {
  const std::lock_guard one_at_a_time(propagation);
  lock_all_lists();
  for_each_list([&](context_list& list) { mark_descendants(source, list); });
  unlock_all_lists();
}

tbb_exception_ptr* task_group_context_impl::take_current_exception() noexcept {
  if (homing::scheduler::terminate_on_exception()) {
    std::terminate();
  }
  return to_word(std::current_exception());
}

void task_group_context_impl::keep_exception(context& ctx, tbb_exception_ptr* thrown) noexcept {
  // [C6] The first exception is kept, also after a cancellation.
  if (!exception_word::keep_first(ctx.my_exception, thrown)) {
    static_cast<void>(from_word(thrown));
  }
  static_cast<void>(cancel(ctx));
}

void task_group_context_impl::rethrow(context& ctx) {
  if (std::exception_ptr taken = take_exception(ctx.my_exception)) {
    std::rethrow_exception(std::move(taken));
  }
}

bool task_group_context_impl::is_or_is_above(const context& ctx, const context* below) noexcept {
  while (below != nullptr && below != &ctx) {
    below = below->my_parent;
  }
  return below != nullptr;
}

/// Whether a listed context and its ancestors are the forking thread's own, or those of what it runs.
bool task_group_context_impl::survives_fork(const context& ctx, const context* current,
                                            const context_list* mine) noexcept {
  for (const context* a = &ctx; a != nullptr; a = a->my_parent) {
    if (a->my_context_list != mine && !is_or_is_above(*a, current)) {
      return false;
    }
  }
  return true;
}

void task_group_context_impl::keep_after_fork(const context* current, context_list* mine) noexcept {
  for_each_list([&](context_list& list) {
    d1::intrusive_list_node* next = nullptr;
    for (auto* node = list.first; node != nullptr; node = next) {
      next = node->my_next_node;
      context& ctx = of_node(*node);
      if (!survives_fork(ctx, current, mine)) {
        unlink(ctx);
        ctx.my_context_list = nullptr;
      } else if (&list != mine) {  // of what this thread runs
        unlink(ctx);
        ctx.my_context_list = mine;
        link_first(ctx);
      }
    }
  });
}

}  // namespace tbb::detail::r1

namespace homing::scheduler {

constinit cancel_marks::fences bind_fences;

context_list& make_context_list(memory::object_pool& memory) {
  auto* list = new (memory.allocate_for_good(sizeof(context_list))) context_list;
  const std::lock_guard no_walk(propagation);  // [C3]
  list->next_list = std::exchange(all_lists, list);
  return *list;
}

void lock_contexts_for_fork() noexcept {
  propagation.lock();
  lock_all_lists();
}

void unlock_contexts_after_fork() noexcept {
  unlock_all_lists();
  propagation.unlock();
}

void unlock_contexts_in_child(const tbb::detail::d1::task_group_context* current, context_list* mine) noexcept {
  context_access::keep_after_fork(current, mine);
  unlock_contexts_after_fork();
}

}  // namespace homing::scheduler
