/// Nodes as numactl writes them, among those that this machine has.
#pragma once

#include <homing/topology.hpp>

#include <string_view>
#include <vector>

#include "measure/units.hpp"

namespace homing::measure {

/// "0-3,5", "all", "!2" (all but those), "+0" (counted among the nodes that this process may use, from 0), "+0-1".
/// Ascending and each once. Errors: a node that does not exist, a backward range, an empty list, anything else.
[[nodiscard]] parsed<std::vector<node_index>> parse_nodes(std::string_view text, const topology::snapshot& machine);

}  // namespace homing::measure
