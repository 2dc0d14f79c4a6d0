/// OpenMP regions on leased threads: as many as the scheduler can spare, in the domains that it took them from.
///
///   const homing::lease threads;
///   homing::openmp::run(threads, homing::openmp::binding::domains, [&](const auto& member) {
///   #pragma omp for
///     for (int i = 0; i < n; ++i) sweep(i);
///   });
///
/// Compile with -fopenmp. Without it the body runs once, on the calling thread.
#pragma once
// A program without OpenMP is not to be warned of pragmas that it may ignore.
#pragma GCC system_header

#include <homing/ids.hpp>
#include <homing/lease.hpp>
#include <homing/topology.hpp>

#include <cstdint>
#include <optional>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace homing::openmp {

/// Whether the team's threads are bound to the domains of the lease while the region runs. `none`: they stay where the
/// OpenMP runtime has them, by OMP_PLACES and OMP_PROC_BIND or by default.
enum class binding : std::uint8_t { none, domains };

/// A thread of a team.
struct team_member {
  std::uint32_t number;   ///< omp_get_thread_num(): 0 is the thread that met the region
  std::uint32_t team;     ///< how many there are: the lease's threads, or fewer if OpenMP gives fewer
  domain_index domain;    ///< that the lease has it in; with binding::none it may run elsewhere
  int bind_error_number;  ///< errno if it was to be bound and could not be, else 0
};

/// Runs `body(member)` once on each thread of a team of threads.threads(), and waits for all. Inside, worksharing (omp
/// for, omp single, omp task) works as in any parallel region.
///
/// Ownership: `body` and the lease outlive the call, which ends with the region. Threads that were bound get their old
///            mask back.
/// Threads: by the one that took the lease, outside of a parallel region; inside of one, OpenMP may give one thread
/// only.
/// Errors: none of its own; OpenMP ends the program if `body` lets an exception out.
template <class Body>
void run(const lease& threads, binding bound, const Body& body) {
  const topology::snapshot machine = topology::current();
  const std::uint32_t wanted = threads.threads();
#pragma omp parallel num_threads(static_cast<int>(wanted))
  {
#ifdef _OPENMP
    const auto number = static_cast<std::uint32_t>(omp_get_thread_num());
    const auto team = static_cast<std::uint32_t>(omp_get_num_threads());
#else
    const std::uint32_t number = 0;
    const std::uint32_t team = 1;
#endif
    const domain_index home = threads.domain_of(number);
    std::optional<topology::bound_thread> stay;
    if (bound == binding::domains) stay.emplace(machine, home);
    body(team_member{number, team, home, stay ? stay->error_number() : 0});
  }
}
template <class Body>
void run(const lease& threads, const Body& body) {
  run(threads, binding::none, body);
}

}  // namespace homing::openmp
