// What OpenMP's variants share: a team whose threads are bound or not, and which iterations a thread has.
#pragma once

#include <homing/distribution.hpp>

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "at_home.hpp"
#include "parts.hpp"

namespace programs {

/// `places` wants OMP_PLACES and OMP_PROC_BIND in the environment before the program begins; the driver sees to it.
enum class binding { none, places };

template <binding Threads>
inline constexpr std::string_view openmp_name = Threads == binding::none ? "openmp" : "openmp-affinity";

/// Calls f() on each thread of a team.
template <binding Threads, class F>
void in_team(const F& f) {
  if constexpr (Threads == binding::none) {
#pragma omp parallel
    f();
  } else {
#pragma omp parallel proc_bind(spread)
    f();
  }
}

/// Calls f() on one thread of a team; the others do the tasks that it makes.
template <binding Threads, class F>
void in_tasks(const F& f) {
  in_team<Threads>([&f] {
#pragma omp single
    f();
  });
}

/// Which iterations of `omp for schedule(static)` over so many the calling thread has: the same in every such loop of a
/// team. All threads of the team call it.
[[nodiscard]] inline interval static_share(std::size_t iterations) {
  interval own{iterations, 0};
#pragma omp for schedule(static) nowait
  for (std::size_t i = 0; i < iterations; ++i) {
    own.first = std::min(own.first, i);
    own.last = i + 1;
  }
  return own.first < own.last ? own : interval{0, 0};
}

/// A task for each domain's part: f(p). `data(p)` is where the data of part p begins, which an affinity clause names.
/// Called by one thread of a team; ends when the tasks have ended.
template <binding Threads, class F, class Data>
void task_for_each_part(const F& f, const Data& data) {
  for (std::uint32_t p = 0; p < part_count(); ++p) {
    if constexpr (Threads == binding::none) {
#pragma omp task shared(f) firstprivate(p)
      f(p);
    } else {
      [[maybe_unused]] auto* const where = data(p);
#pragma omp task shared(f) firstprivate(p) affinity(where[0])
      f(p);
    }
  }
#pragma omp taskwait
}

}  // namespace programs
