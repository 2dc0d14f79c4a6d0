/// The names of a domain, a NUMA node and a CPU: the public types.
#pragma once

#include <homing/ids.hpp>

namespace homing::topology {

using homing::cpu_id;
using homing::domain_index;
using homing::node_id;
using homing::node_index;
using homing::to_index;

}  // namespace homing::topology
