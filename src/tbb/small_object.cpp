/// Exported: the memory of tasks, from the calling thread's pool.
#include <oneapi/tbb/detail/_small_object_pool.h>

#include "memory/small_object_pool.hpp"
#include "runtime/process/implicit_arena.hpp"

namespace tbb::detail::r1 {

namespace {

using homing::memory::object_pool;

inline void* allocate_of(object_pool& mine, d1::small_object_pool*& pool, std::size_t bytes) {
  pool = &mine;
  return mine.allocate(bytes);
}

/// The thread enters its arena here, not only when it spawns: no memory for that is told before there is a task that
/// somebody waits for.
[[gnu::cold, gnu::noinline]] void* allocate_first(d1::small_object_pool*& pool, std::size_t bytes) {
  return allocate_of(*homing::scheduler::arena_thread().pool, pool, bytes);
}

inline void* allocate_here(d1::small_object_pool*& pool, std::size_t bytes) {
  const homing::scheduler::thread_state* const here = homing::scheduler::this_thread_or_null;
  return __builtin_expect(here != nullptr && here->in != nullptr, true) ? allocate_of(*here->pool, pool, bytes)
                                                                        : allocate_first(pool, bytes);
}

inline void deallocate_here(d1::small_object_pool& pool, void* memory, std::size_t bytes) {
  auto& owner = static_cast<object_pool&>(pool);
  // A thread that has never used the library may end an object; it gets no record, for which there might be no memory.
  const homing::scheduler::thread_state* const here = homing::scheduler::this_thread_or_null;
  if (here != nullptr) {
    here->pool->deallocate(owner, memory, bytes);
  } else {
    owner.deallocate_remote(memory, bytes);
  }
}

}  // namespace

void* allocate(d1::small_object_pool*& pool, std::size_t bytes, const d1::execution_data&) {
  return allocate_here(pool, bytes);
}
void* allocate(d1::small_object_pool*& pool, std::size_t bytes) { return allocate_here(pool, bytes); }

void deallocate(d1::small_object_pool& pool, void* memory, std::size_t bytes, const d1::execution_data&) {
  deallocate_here(pool, memory, bytes);
}
void deallocate(d1::small_object_pool& pool, void* memory, std::size_t bytes) { deallocate_here(pool, memory, bytes); }

}  // namespace tbb::detail::r1
