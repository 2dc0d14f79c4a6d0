// What a program finds when it begins: which memory policy its pages have, and which CPUs it may use, as numactl(8)
// sets them before a program starts. Page placement by policy is what the papers compare their own with.
#pragma once

#include <optional>
#include <string>

namespace programs {

/// A policy for pages that nothing else places.
enum class page_policy { first_touch, interleave, one_node };

struct surroundings {
  page_policy pages = page_policy::first_touch;
  int memory_node = 0;          ///< Linux's number; for one_node
  std::optional<int> cpu_node;  ///< Linux's number; nothing: all CPUs that the process has
};

/// Sets them for the calling thread and all that it starts. Call it before any library looks at the machine.
/// Returns what was refused, empty if all is set. Threads: while the process has one.
[[nodiscard]] std::string apply(const surroundings& s);

/// Why a thread can't be kept to that node, empty if it can.
[[nodiscard]] std::string no_cpus_of(int node);

}  // namespace programs
