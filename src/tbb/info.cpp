/// Exported: NUMA nodes, core types and concurrency of the machine, as this process may use it.
#include <oneapi/tbb/info.h>

#include <algorithm>

#include "tbb/known_constraints.hpp"
#include "topology/machine.hpp"

namespace tbb::detail::r1 {
namespace {

using homing::topology::process_machine;

homing::topology::constraints_query query_of(const d1::constraints& c) {
  return {c.numa_id, c.core_type, c.max_threads_per_core};
}

}  // namespace

unsigned numa_node_count() { return static_cast<unsigned>(process_machine().numa_ids().size()); }

void fill_numa_indices(int* index_array) {
  const auto ids = process_machine().numa_ids();
  std::copy(ids.begin(), ids.end(), index_array);
}

int numa_default_concurrency(int numa_id) {
  return numa_id < 0 ? static_cast<int>(process_machine().default_concurrency())
                     : constraints_default_concurrency(d1::constraints{}.set_numa_id(numa_id), 0);
}

unsigned core_type_count(std::intptr_t) { return static_cast<unsigned>(process_machine().core_type_ids().size()); }

void fill_core_type_indices(int* index_array, std::intptr_t) {
  const auto ids = process_machine().core_type_ids();
  std::copy(ids.begin(), ids.end(), index_array);
}

int constraints_default_concurrency(const d1::constraints& c, std::intptr_t) {
  const auto query = query_of(c);
  assert_known(process_machine(), query);
  return static_cast<int>(process_machine().concurrency(query));
}

int constraints_threads_per_core(const d1::constraints& c, std::intptr_t) {
  return static_cast<int>(process_machine().threads_per_core(query_of(c)));
}

}  // namespace tbb::detail::r1
