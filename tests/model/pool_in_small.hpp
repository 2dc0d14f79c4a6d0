/// The production object pool with what it asks of the C library and of forks. To be included while std::atomic is the
/// checker's (tbb_atomics.hpp).
#pragma once

#include "memory/small_object_pool.cpp"

namespace homing::memory {
// Large objects are the C library's, and no part of the protocol.
void* cache_aligned_allocate(std::size_t bytes) { return ::operator new(bytes); }
void cache_aligned_deallocate(void* memory) noexcept { ::operator delete(memory); }

/// Static objects keep what the execution before has left: the list of orphans begins empty.
inline object_pool& first_pool() {
  orphans.pools.forget();
  return object_pool::acquire(0);
}
}  // namespace homing::memory

namespace homing::platform {
fork_part::fork_part(fork_layer l, function b, function p, function c) noexcept
    : layer(l), before(b), parent(p), child(c) {}  // models don't fork
}  // namespace homing::platform
