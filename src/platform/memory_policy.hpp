/// The kernel's NUMA policy for a range of memory that nobody has touched yet.
#pragma once

#include <cstddef>

#include "platform/id_set.hpp"
#include "platform/ids.hpp"

namespace homing::platform {

/// Sets the policy of [address, address + bytes): pages dealt over `nodes`, or taken from the only one, with the
/// kernel's fallback when a node is full. `address` is page-aligned. Returns 0 or the errno. Any thread.
[[nodiscard]] int interleave_untouched(void* address, std::size_t bytes, const id_set<node_id>& nodes) noexcept;

/// The nodes that this process may take memory from and that have both memory and CPUs; empty if the system does not
/// tell. A node without CPUs (a memory tier) is used when named, never by default. Throws only std::bad_alloc.
[[nodiscard]] id_set<node_id> default_memory_nodes();

}  // namespace homing::platform
