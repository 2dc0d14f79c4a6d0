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
    // acquire: what the last task did before its release of the context. Sleepers pass a heavy fence first. [S6]
    return wait.m_ref_count.load(homing::sync::acquire) > 0;
  }

  static homing::scheduler::arena* arena_of(const d1::task_arena_base& user) noexcept {
    return reinterpret_cast<homing::scheduler::arena*>(user.my_arena.load(homing::sync::acquire));
  }
  static void set_arena(d1::task_arena_base& user, homing::scheduler::arena* a) noexcept {
    user.my_arena.store(reinterpret_cast<arena*>(a), homing::sync::release);
  }
  /// relaxed: at the object's end, when nobody uses it any more.
  static homing::scheduler::arena* exchange_arena(d1::task_arena_base& user, homing::scheduler::arena* a) noexcept {
    return reinterpret_cast<homing::scheduler::arena*>(
        user.my_arena.exchange(reinterpret_cast<arena*>(a), homing::sync::relaxed));
  }

  /// The headers' once-only initialize() waits for ever for one that ended by an exception: it has not begun, then.
  /// relaxed: it has left nothing for the next one to see.
  static void restart_initialization(d1::task_arena_base& user) noexcept {
    user.my_initialization_state.store(d0::do_once_state::uninitialized, homing::sync::relaxed);
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
