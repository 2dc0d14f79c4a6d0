/// How much memory a NUMA node, or the whole system, has to give now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platform/ids.hpp"

namespace homing::platform {

/// Bytes that a process bound to `node` can get without swapping: free memory, and files' pages that were not used
/// lately (the kernel drops those first). Nothing where the kernel does not tell. `root` is put before every path.
/// Threads: any. Errors: none; what can't be understood is "does not tell".
[[nodiscard]] std::optional<std::uint64_t> available_bytes(node_id node, const std::string& root = "");

/// The same of all nodes together, by the kernel's own estimate (MemAvailable). Control groups are not asked:
/// read_memory_left().
[[nodiscard]] std::optional<std::uint64_t> available_bytes_of_system(const std::string& root = "");

}  // namespace homing::platform
