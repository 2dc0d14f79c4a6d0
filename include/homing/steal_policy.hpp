/// How far an arena's idle threads go for work: each arena may have a policy of its own, beside HOMING_STEAL for all
/// others.
///
///   tbb::task_arena arena;
///   homing::initialize(arena, homing::steal_policy::domain);    // before its first use
///   arena.execute([&] { homing::parallel_for(range, body, distribution); });
///
/// Source: TBB-NUMA 4.3 (stealing); the locality runtime of "Locality-aware task scheduling", section 3.1 (domain).
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <homing/detail/tasks_door.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace homing {

/// Whom a thread that is out of work robs.
enum class steal_policy : std::uint32_t {
  near,    ///< outwards: same L3, same domain, then by distance; the default
  random,  ///< anybody alike: the paper's, and oneTBB's
  domain   ///< threads of its own domain and no others, however idle it is
};

/// As arena.initialize(), for an arena with that policy. What no thread of a domain could serve, such as tasks sent to
/// a domain without workers, or left by a thread that has gone or waits elsewhere, others take all the same: nothing
/// waits for ever.
/// Without our libtbb.so.12 it is arena.initialize() and nothing else.
///
/// Threads: as arena.initialize(). Errors: as it, std::bad_alloc; an arena that is active already is a programmer's
/// error.
inline void initialize(tbb::task_arena& arena, steal_policy policy) {
  if (arena.is_active()) {
    std::fputs("homing: initialize(arena, steal_policy) came after the arena's first use: call it before\n", stderr);
    std::abort();
  }
  if (const detail::tasks_door* door = detail::policy_door()) {
    door->initialize_with(&arena, static_cast<std::uint32_t>(policy));
  } else {
    arena.initialize();
  }
}

}  // namespace homing
