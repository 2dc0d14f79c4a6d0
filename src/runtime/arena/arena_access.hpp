/// The friend that oneTBB's headers name for arenas and wait contexts: the only way to their private fields.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include "runtime/arena/arena.hpp"
#include "sync/atomic.hpp"

namespace tbb::detail::r1 {

/// Users' task_arena holds an opaque r1::arena*, which is ours by another name.
class arena;

struct task_arena_impl {
  static bool is_waited_for(const d1::wait_context& wait) noexcept {
    // acquire: what the last task did before its release of the context. seq_cst so that S6 holds for sleepers too.
    return wait.m_ref_count.load(homing::sync::seq_cst) > 0;
  }

  static homing::scheduler::arena* arena_of(const d1::task_arena_base& user) noexcept {
    return reinterpret_cast<homing::scheduler::arena*>(user.my_arena.load(homing::sync::acquire));
  }
  static void set_arena(d1::task_arena_base& user, homing::scheduler::arena* a) noexcept {
    user.my_arena.store(reinterpret_cast<arena*>(a), homing::sync::release);
  }
  static homing::scheduler::arena* exchange_arena(d1::task_arena_base& user, homing::scheduler::arena* a) noexcept {
    return reinterpret_cast<homing::scheduler::arena*>(
        user.my_arena.exchange(reinterpret_cast<arena*>(a), homing::sync::acq_rel));
  }

  /// The headers' once-only initialize() waits for ever for one that ended by an exception: it has not begun, then.
  static void restart_initialization(d1::task_arena_base& user) noexcept {
    user.my_initialization_state.store(d0::do_once_state::uninitialized, homing::sync::release);
  }

  /// `fresh` in place of `old`; false if another thread has replaced it, by `now`.
  static bool replace_arena(d1::task_arena_base& user, homing::scheduler::arena& old, homing::scheduler::arena& fresh,
                            homing::scheduler::arena*& now) noexcept {
    auto* found = reinterpret_cast<arena*>(&old);
    // acq_rel: publishes the new arena, or acquires the one that another thread made.
    const bool mine = user.my_arena.compare_exchange_strong(found, reinterpret_cast<arena*>(&fresh),
                                                            homing::sync::acq_rel, homing::sync::acquire);
    now = mine ? &fresh : reinterpret_cast<homing::scheduler::arena*>(found);
    return mine;
  }

  static homing::scheduler::arena_request request_of(const d1::task_arena_base& user) noexcept {
    homing::scheduler::arena_request r;
    r.max_concurrency = user.my_max_concurrency;
    r.reserved_slots = user.my_num_reserved_slots;
    r.priority_level = user.my_priority == d1::task_arena_base::priority::high     ? 0U
                       : user.my_priority == d1::task_arena_base::priority::normal ? 1U
                                                                                   : 2U;
    r.constraints = {user.my_numa_id, user.core_type(), user.max_threads_per_core()};
    r.fast_leave = user.get_leave_policy() == d1::task_arena_base::leave_policy::fast;
    return r;
  }

  /// After attach(): the object shows the settings of the arena that it now refers to.
  static void copy_settings(d1::task_arena_base& user, const homing::scheduler::arena& a) noexcept {
    user.my_max_concurrency = static_cast<int>(a.max_concurrency());
    user.my_num_reserved_slots = a.reserved_slots();
    user.my_priority = a.priority_level() == 0   ? d1::task_arena_base::priority::high
                       : a.priority_level() == 1 ? d1::task_arena_base::priority::normal
                                                 : d1::task_arena_base::priority::low;
    const auto& c = a.request().constraints;
    user.my_numa_id = c.numa_id;
    user.my_core_type = c.core_type;
    user.my_max_threads_per_core = c.max_threads_per_core;
    user.set_leave_policy(a.request().fast_leave ? d1::task_arena_base::leave_policy::fast
                                                 : d1::task_arena_base::leave_policy::automatic);
  }
};

}  // namespace tbb::detail::r1

namespace homing::scheduler {
using arena_access = tbb::detail::r1::task_arena_impl;
using wait_context = tbb::detail::d1::wait_context;
}  // namespace homing::scheduler
