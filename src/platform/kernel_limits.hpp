/// What the kernel says of this process's memory nodes, and of CPUs that are switched off.
#pragma once

#include <optional>
#include <string>

#include "platform/id_set.hpp"

namespace homing::platform {

/// Nodes that this process may get memory from (Mems_allowed_list of /proc/self/status).
/// Nothing if the kernel does not say. `root` is put before every path.
[[nodiscard]] std::optional<node_set> allowed_memory_nodes(const std::string& root = "");

/// CPUs that are plugged in but switched off. Empty where the kernel does not say.
[[nodiscard]] cpu_set offline_cpus(const std::string& root = "");

}  // namespace homing::platform
