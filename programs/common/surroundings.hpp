// What a program finds when it begins: which memory policy its pages have, and which CPUs it may use, as numactl(8)
// sets them before a program starts. Page placement by policy is what the papers compare their own with.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace programs {

/// A policy for pages that nothing else places.
enum class page_policy { first_touch, interleave, one_node };

struct surroundings {
  page_policy pages = page_policy::first_touch;
  int memory_node = 0;          ///< Linux's number; for one_node
  std::optional<int> cpu_node;  ///< Linux's number; nothing: all CPUs that the process has
};

/// Sets them for the calling thread and all that it starts. Call it before any library looks at the machine.
/// Returns the option and what was refused, empty if all is set. Threads: while the process has one.
[[nodiscard]] std::string apply(const surroundings& s);

/// Linux's numbers of the nodes that have memory, and of those to which this thread may be kept; empty if the kernel
/// shows no nodes.
[[nodiscard]] std::vector<int> nodes_with_memory();
[[nodiscard]] std::vector<int> nodes_with_cpus();

/// How many CPUs of these nodes the calling thread may use. Each node counts once, in whatever order they come.
[[nodiscard]] int count_cpus(const std::vector<int>& nodes);

}  // namespace programs
