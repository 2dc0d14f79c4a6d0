/// The kernel's NUMA policy for a range of memory that nobody has touched yet.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace homing::platform {

/// Sets the policy of [address, address + bytes): pages dealt over `nodes` (OS numbers, none negative), or taken from
/// the only one, with the kernel's fallback when a node is full. Returns 0 or the errno. `address` is page-aligned.
[[nodiscard]] int interleave_untouched(void* address, std::size_t bytes, std::span<const int> nodes) noexcept;

/// OS numbers of the nodes that this process may take memory from and that have both memory and CPUs; empty if the
/// system does not tell. Ascending.
[[nodiscard]] std::vector<int> default_memory_nodes();

/// Numbers in the kernel's list format ("0-3,8"); what is no such list gives what could be read before the error.
[[nodiscard]] std::vector<int> parse_id_list(const char* text);

}  // namespace homing::platform
