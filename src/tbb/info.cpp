/// Exported: NUMA nodes, core types and concurrency of the machine, as this process may use it.
#include <oneapi/tbb/info.h>

#include <algorithm>
#include <cstdio>

#include "topology/machine.hpp"

namespace tbb::detail::r1 {

void assertion_failure(const char* location, int line, const char* expression, const char* comment);

namespace {

using homing::topology::process_machine;

homing::topology::constraints_query known(int numa_id, int core_type, int max_threads_per_core) {
  const auto nodes = process_machine().numa_ids();
  if (numa_id != -1 && std::find(nodes.begin(), nodes.end(), numa_id) == nodes.end()) {
    char comment[160];
    std::snprintf(comment, sizeof comment,
                  "The constraints::numa_id value %d is not known to the library. Use tbb::info::numa_nodes() to get "
                  "the list of possible values.",
                  numa_id);
    assertion_failure(__func__, __LINE__, "numa_id is one of info::numa_nodes()", comment);
  }
  return {numa_id, core_type, max_threads_per_core};
}

}  // namespace

unsigned numa_node_count() { return static_cast<unsigned>(process_machine().numa_ids().size()); }

void fill_numa_indices(int* index_array) {
  const auto ids = process_machine().numa_ids();
  std::copy(ids.begin(), ids.end(), index_array);
}

int numa_default_concurrency(int numa_id) {
  return static_cast<int>(numa_id == -1 ? process_machine().default_concurrency()
                                        : process_machine().concurrency(known(numa_id, -1, -1)));
}

unsigned core_type_count(std::intptr_t) { return static_cast<unsigned>(process_machine().core_type_ids().size()); }

void fill_core_type_indices(int* index_array, std::intptr_t) {
  const auto ids = process_machine().core_type_ids();
  std::copy(ids.begin(), ids.end(), index_array);
}

int constraints_default_concurrency(const d1::constraints& c, std::intptr_t) {
  return static_cast<int>(process_machine().concurrency(known(c.numa_id, c.core_type, c.max_threads_per_core)));
}

int constraints_threads_per_core(const d1::constraints& c, std::intptr_t) {
  return static_cast<int>(process_machine().threads_per_core(known(c.numa_id, c.core_type, c.max_threads_per_core)));
}

}  // namespace tbb::detail::r1
