/// The names of a domain, a NUMA node and a CPU, as types.
#pragma once

#include <cstdint>

#include "platform/ids.hpp"

namespace homing::topology {

/// A domain of this process's machine: dense, 0..count-1, in the order of machine::domains().
enum class domain_index : std::uint32_t {};
/// OS id of a NUMA node: what people see and type.
using platform::node_id;
/// OS id of a logical CPU of the described machine.
using platform::cpu_id;

/// A domain's place in an array.
[[nodiscard]] constexpr std::uint32_t to_index(domain_index d) noexcept { return static_cast<std::uint32_t>(d); }

}  // namespace homing::topology
