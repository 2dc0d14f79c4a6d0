/// The names of a CPU, a NUMA node and a domain, as types, so that none passes for another.
#pragma once

#include <cstdint>

namespace homing {

/// OS id of a logical CPU, as in /sys/devices/system/cpu/cpuN. Sparse; -1 is "unknown".
enum class cpu_id : int {};
/// OS id of a NUMA node, as in /sys/devices/system/node/nodeN: what people see and type. Sparse; -1 is "unknown".
enum class node_id : int {};
/// A NUMA node's place in topology::snapshot::nodes(): dense, 0..count-1.
enum class node_index : std::uint32_t {};
/// A domain's place in topology::snapshot::domains(): dense, 0..count-1.
enum class domain_index : std::uint32_t {};

/// The number itself, to index an array with.
[[nodiscard]] constexpr std::uint32_t to_index(node_index node) noexcept { return static_cast<std::uint32_t>(node); }
[[nodiscard]] constexpr std::uint32_t to_index(domain_index domain) noexcept {
  return static_cast<std::uint32_t>(domain);
}
/// The number itself, to print.
[[nodiscard]] constexpr int to_number(cpu_id cpu) noexcept { return static_cast<int>(cpu); }
[[nodiscard]] constexpr int to_number(node_id node) noexcept { return static_cast<int>(node); }

}  // namespace homing
