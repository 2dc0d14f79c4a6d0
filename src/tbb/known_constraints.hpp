/// Which constraints of an arena mean something on this machine; others are an error of the caller.
#pragma once

#include "topology/machine.hpp"

namespace tbb::detail::r1 {

/// Fails an assertion that names the field and its value if numa_id is none of info::numa_nodes(), core_type is none of
/// info::core_types() (nor several of them in one number), or max_threads_per_core is below 1. -1 is any, everywhere.
void assert_known(const homing::topology::machine& machine, const homing::topology::constraints_query& query);

/// The part of it about nodes.
void assert_known_node(const homing::topology::machine& machine, int numa_id);

}  // namespace tbb::detail::r1
