// The machine, read, described and read again; threads bound to domains; oneTBB's questions about it.
#include <homing/domain_set.hpp>
#include <homing/topology.hpp>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "faults.hpp"

int main() {
  return faults::check([] {
    const homing::topology::snapshot machine = homing::topology::current();
    faults::require(!machine.domains().empty() && !machine.nodes().empty(), "a machine without domains or nodes");
    faults::require(machine.default_concurrency() >= 1, "a machine without threads");
    faults::require(!machine.describe().empty(), "a machine that is not described");
    const homing::topology::snapshot again = homing::topology::refresh();
    faults::require(!again.domains().empty(), "a machine without domains, when read again");
    for (const auto& d : machine.domains()) {
      const homing::topology::bound_thread here(machine, d.index);
      if (here.error_number() == 0) {
        faults::require(homing::topology::current_domain() == d.index, "a bound thread is elsewhere");
      }
    }
    static_cast<void>(homing::weights::by_cpus(machine, homing::domain_set::all()));
    faults::require(!tbb::info::numa_nodes().empty(), "no NUMA node");
    faults::require(!tbb::info::core_types().empty(), "no core type");
    faults::require(tbb::info::default_concurrency() >= 1, "no thread");
    std::atomic<int> seen{0};
    tbb::parallel_for(0, 30, [&](int) { ++seen; });
    faults::require(seen == 30, "parallel_for: not each item once");
  });
}
