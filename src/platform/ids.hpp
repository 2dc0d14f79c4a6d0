/// The numbers by which the operating system names a CPU and a NUMA node: the public types.
#pragma once

#include <homing/ids.hpp>

namespace homing::platform {

using homing::cpu_id;
using homing::node_id;

}  // namespace homing::platform
