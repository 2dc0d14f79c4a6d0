/// What the kernel says of this process's CPUs and memory nodes, and of CPUs that are switched off.
#pragma once

#include <optional>
#include <string>

#include "platform/cpu_set.hpp"

namespace homing::platform {

/// Nodes that this process may get memory from (Mems_allowed_list of /proc/self/status).
/// Nothing if the kernel does not say. `root` is put before every path.
[[nodiscard]] std::optional<node_set> allowed_memory_nodes(const std::string& root = "");

struct process_mask {
  cpu_set cpus;          ///< empty if nobody says
  int error_number = 0;  ///< errno of a refused sched_getaffinity(2): then `cpus` are those of /proc/self/status
};

/// The affinity mask of the process's first thread, as with stock oneTBB: the calling one may be bound to one CPU for
/// reasons of its own. Where a sandbox refuses the call, the list in /proc/self/status, below `root`.
[[nodiscard]] process_mask read_process_mask(const std::string& root = "");

/// CPUs that are switched on; empty where the kernel does not say.
[[nodiscard]] cpu_set online_cpus(const std::string& root = "");

/// CPUs that are plugged in but switched off. Empty where the kernel does not say.
[[nodiscard]] cpu_set offline_cpus(const std::string& root = "");

}  // namespace homing::platform
