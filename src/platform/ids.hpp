/// The numbers by which the operating system names a CPU and a NUMA node.
#pragma once

namespace homing::platform {

/// OS id of a logical CPU, as in /sys/devices/system/cpu/cpuN. Sparse; -1 is "unknown".
enum class cpu_id : int {};
/// OS id of a NUMA node, as in /sys/devices/system/node/nodeN. Sparse; -1 is "unknown".
enum class node_id : int {};

}  // namespace homing::platform
