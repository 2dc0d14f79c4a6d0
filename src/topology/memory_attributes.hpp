/// What firmware says of each memory's bandwidth and latency (HMAT), as hwloc has it.
#pragma once

#include <hwloc.h>

#include <vector>

#include "topology/facts.hpp"

namespace homing::topology {

/// All figures of the nodes, which are in the order of the facts. Empty where the machine gives none.
[[nodiscard]] std::vector<attribute_fact> read_attributes(hwloc_topology_t topology,
                                                          const std::vector<node_fact>& nodes);

}  // namespace homing::topology
