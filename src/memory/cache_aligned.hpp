/// Heap blocks that share their cache lines with nobody: the allocator below oneTBB's containers.
///
/// libtbbmalloc.so.2 does the work where the loader finds one, also the system's; the stock library takes only one that
/// is loaded already, or the one beside itself. Otherwise malloc does, with the block's true start kept in front of it
/// (glibc's aligned_alloc bypasses its per-thread cache and takes three times as long). The choice is made once, when
/// this library is loaded, and holds for the life of the process.
///
/// Threads: any. A block may be freed by another thread than the one that allocated it.
#pragma once

#include <cstddef>

namespace homing::memory {

/// The alignment of cache-aligned blocks, in bytes: two lines, because CPUs fetch lines in pairs.
inline constexpr std::size_t cache_alignment_bytes = 128;

/// Memory aligned to 128 bytes. Throws std::bad_alloc. A size of 0 gives a unique block.
[[nodiscard]] void* cache_aligned_allocate(std::size_t bytes);

/// Frees what cache_aligned_allocate() returned; null is allowed.
void cache_aligned_deallocate(void* block) noexcept;

/// Memory aligned as malloc's. Throws std::bad_alloc. A size of 0 gives a unique block.
[[nodiscard]] void* plain_allocate(std::size_t bytes);

/// Frees what plain_allocate() returned; null is allowed.
void plain_deallocate(void* block) noexcept;

/// True if libtbbmalloc serves the four functions above.
[[nodiscard]] bool scalable_allocator_in_use() noexcept;

}  // namespace homing::memory
