/// Memory whose pages are spread over NUMA nodes in turn: the preview `tbb::allocate_numa_interleaved`.
///
/// Node numbers are the OS's. Where the kernel refuses the placement (a sandbox, a node that does not exist), the
/// memory is handed out all the same, as the stock library does; the first refusal of a process is one line on stderr.
///
/// Threads: any.
#pragma once

#include <cstddef>
#include <span>

namespace homing::memory {

/// Maps `bytes` bytes; chunk i of `chunk_bytes` bytes belongs to nodes[i mod count], in the order given. No nodes: all
/// that this process may use and that have CPUs. Chunk 0: the kernel deals single pages over the set of nodes.
/// Returns null if bytes is 0, if chunk_bytes is no multiple of the page size, and if the mapping fails (errno tells).
/// Ownership: the caller's, until deallocate_interleaved(). Negative node numbers mean "no preference" and are skipped.
[[nodiscard]] void* allocate_interleaved(std::size_t bytes, std::span<const int> nodes,
                                         std::size_t chunk_bytes) noexcept;

/// Unmaps what allocate_interleaved() returned for the same number of bytes; null is allowed.
void deallocate_interleaved(void* memory, std::size_t bytes) noexcept;

}  // namespace homing::memory
