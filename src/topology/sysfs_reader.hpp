/// This computer by few files of sysfs: what is needed before the first task.
#pragma once

#include <optional>
#include <string>

#include "topology/facts.hpp"

namespace homing::topology {

/// Nodes with their CPUs, memory and distances, and the CPUs that share a socket or an L3; the facts that hwloc gives
/// but for cores and core types, and what the cpuset takes away. hwloc reads some forty files of each CPU; this reads
/// some of each node, socket and L3.
///
/// Nothing where any of it is not as on most machines: nodes without CPUs or memory, CPUs without a node, sets that
/// overlap, files that are missing. hwloc knows what to make of these.
///
/// `root`: for tests, a folder that stands for "/". Threads: any. Errors: std::bad_alloc.
/// Source: Linux, Documentation/ABI/stable/sysfs-devices-node and testing/sysfs-devices-system-cpu.
[[nodiscard]] std::optional<machine_facts> read_sysfs(const std::string& root = "");

}  // namespace homing::topology
