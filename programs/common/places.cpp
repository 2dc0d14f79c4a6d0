#include "places.hpp"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace programs {

namespace {

cpu_set_t place_of_main_thread;  // as the OpenMP runtime bound it
bool was_bound = false;

}  // namespace

void leave_place() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int p = 0; p < omp_get_num_places(); ++p) {
    std::vector<int> cpus(static_cast<std::size_t>(omp_get_place_num_procs(p)));
    omp_get_place_proc_ids(p, cpus.data());
    for (const int cpu : cpus) {
      if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &all);
    }
  }
  if (CPU_COUNT(&all) == 0) return;
  if (::sched_getaffinity(0, sizeof place_of_main_thread, &place_of_main_thread) != 0) return;
  was_bound = ::sched_setaffinity(0, sizeof all, &all) == 0;
}

void return_to_place() {
  if (was_bound) static_cast<void>(::sched_setaffinity(0, sizeof place_of_main_thread, &place_of_main_thread));
}

void start_with_places(char** argv) {
  if (std::getenv("OMP_PLACES") != nullptr) return;
  ::setenv("OMP_PLACES", "cores", 1);
  ::setenv("OMP_PROC_BIND", "spread", 0);
  ::execv("/proc/self/exe", argv);
  std::fprintf(stderr, "%s: OMP_PLACES is not in the environment, and starting again with it failed: %s\n", argv[0],
               std::strerror(errno));
}

}  // namespace programs
