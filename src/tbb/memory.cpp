/// The allocation functions below oneTBB's allocators and containers.
#define TBB_PREVIEW_NUMA_ALLOCATION 1  // declares the preview's two functions

#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/detail/_exception.h>
#include <oneapi/tbb/numa_allocation.h>
#include <oneapi/tbb/tbb_allocator.h>

#include <new>

#include "memory/cache_aligned.hpp"
#include "memory/interleaved.hpp"

namespace tbb::detail::r1 {

namespace {

/// As the library's other exceptions are thrown: under terminate_on_exception, not at all.
template <class Allocate>
void* or_report(const Allocate& allocate) {
  void* block = nullptr;
  try {
    block = allocate();
  } catch (const std::bad_alloc&) {
  }
  if (block == nullptr) {
    throw_exception(d0::exception_id::bad_alloc);  // outside the handler
  }
  return block;
}

}  // namespace

void* cache_aligned_allocate(std::size_t size) {
  return or_report([size] { return homing::memory::cache_aligned_allocate(size); });
}

void cache_aligned_deallocate(void* p) { homing::memory::cache_aligned_deallocate(p); }

std::size_t cache_line_size() { return homing::memory::cache_alignment_bytes; }

void* allocate_memory(std::size_t size) {
  return or_report([size] { return homing::memory::plain_allocate(size); });
}

void deallocate_memory(void* p) { homing::memory::plain_deallocate(p); }

/// Despite its name, true means that malloc serves: tbb_allocator::allocator_type() in the public header reads it so,
/// and the stock library answers so.
bool is_tbbmalloc_used() { return !homing::memory::scalable_allocator_in_use(); }

/// Neither nodes nor a count means all nodes; one of the two without the other is an error of the caller, answered by
/// null as other bad arguments are.
void* allocate_interleaved(std::size_t bytes, const d1::numa_node_id* nodes, std::size_t nodes_count,
                           std::size_t bytes_per_chunk) {
  if ((nodes == nullptr) != (nodes_count == 0)) {
    return nullptr;
  }
  return homing::memory::allocate_interleaved(bytes, {nodes, nodes_count}, bytes_per_chunk);
}

void deallocate_interleaved(void* ptr, std::size_t bytes) { homing::memory::deallocate_interleaved(ptr, bytes); }

}  // namespace tbb::detail::r1
