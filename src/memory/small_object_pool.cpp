/// The pool's slow paths: new slabs, objects that come back from other threads, pools without a thread.
#include "memory/small_object_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "memory/cache_aligned.hpp"
#include "platform/check.hpp"
#include "platform/fork.hpp"
#include "sync/spin_lock.hpp"

namespace homing::memory {
namespace {

/// The pools of ended threads, newest first, and room for new ones. A zero-filled static: usable before and after every
/// other object.
struct orphanage {
  sync::spin_lock lock;
  sync::linked_list<object_pool> pools;
  std::byte* first_slabs = nullptr;  ///< mapped, and no pool's yet
  std::byte* first_slabs_end = nullptr;
};
constinit orphanage orphans;

const platform::fork_part orphans_over_fork(
    platform::fork_layer::memory, [] { orphans.lock.lock(); }, [] { orphans.lock.unlock(); },
    [] { orphans.lock.unlock(); });

/// Fresh zero pages, not touched yet. Throws std::bad_alloc.
std::byte* map_slab(std::size_t bytes) {
  void* const slab = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (slab == MAP_FAILED) {
    throw std::bad_alloc();
  }
  platform::poison_memory(slab, bytes);
  return static_cast<std::byte*>(slab);
}

/// A pool's first slab. Several are mapped at once, since threads are made at the same time and a mapping makes them
/// wait for each other. A huge page would have them all where one thread is.
std::byte* take_first_slab(std::size_t bytes) {
  constexpr std::size_t slabs_at_once = 16;
  const sync::scoped_spin_lock guard(orphans.lock);
  if (orphans.first_slabs == orphans.first_slabs_end) {
    orphans.first_slabs = map_slab(slabs_at_once * bytes);
    orphans.first_slabs_end = orphans.first_slabs + slabs_at_once * bytes;
    static_cast<void>(
        ::madvise(orphans.first_slabs, slabs_at_once * bytes, MADV_NOHUGEPAGE));  // a kernel may have none
  }
  return std::exchange(orphans.first_slabs, orphans.first_slabs + bytes);
}

}  // namespace

object_pool& object_pool::create(unsigned domain) {
  // The pool sits at the start of its own first slab: near its thread, like its objects.
  std::byte* const slab = take_first_slab(slab_bytes_min);
  platform::unpoison_memory(slab, sizeof(object_pool));
  static_assert(sizeof(object_pool) % grain_bytes == 0 && alignof(object_pool) <= 4096);
  return *new (slab) object_pool(domain, slab + sizeof(object_pool), slab + slab_bytes_min);
}

object_pool& object_pool::acquire(unsigned domain) {
  {
    const sync::scoped_spin_lock guard(orphans.lock);  // [OP3] sees all that the last owner did
    for (object_pool* pool = orphans.pools.first(); pool != nullptr; pool = pool->next) {
      if (pool->domain_ == domain) {
        orphans.pools.remove(*pool);
        return *pool;
      }
    }
  }
  return create(domain);
}

void object_pool::release(object_pool& pool) noexcept {
  const sync::scoped_spin_lock guard(orphans.lock);  // [OP3]
  orphans.pools.push_front(pool);
}

void object_pool::deallocate_remote(void* memory, std::size_t bytes) noexcept {
  const std::size_t index = class_of(bytes);
  if (index >= class_count) {
    deallocate_large(memory);
    return;
  }
  auto* const object = static_cast<free_object*>(memory);
  sync::atomic<free_object*>& top = remote_[index];
  poison(object, index);
  free_object* below = top.load(sync::relaxed);  // [OP1] compared, never dereferenced
  do {
    object->next = below;
    // [OP1] release: publishes the link, and the last use of the object, to [OP2]. Failure relaxed, as the load above.
  } while (!top.compare_exchange_weak(below, object, sync::release, sync::relaxed));
}

void* object_pool::refill(std::size_t index) {
  sync::atomic<free_object*>& top = remote_[index];
  // relaxed: a hint that saves the exchange; an object that arrives now is found next time.
  if (top.load(sync::relaxed) != nullptr) {
    // [OP2] acquire: pairs with [OP1].
    free_object* const object = top.exchange(nullptr, sync::acquire);
    local_[index] = object->next;
    platform::unpoison_memory(object, bytes_of(index));
    return object;
  }
  return carve(index);
}

void* object_pool::carve(std::size_t index) {
  const std::size_t bytes = bytes_of(index);
  // A type that is aligned to 128 has such a size. The grain before it serves another object.
  if (bytes % cache_alignment_bytes == 0 &&
      reinterpret_cast<std::uintptr_t>(free_begin_) % cache_alignment_bytes != 0) {
    static_assert(cache_alignment_bytes == 2 * grain_bytes);
    deallocate_local(carve_bytes(grain_bytes), grain_bytes);
  }
  return carve_bytes(bytes);
}

std::byte* object_pool::carve_bytes(std::size_t bytes) {
  if (static_cast<std::size_t>(slab_end_ - free_begin_) < bytes) {
    // What is left of the old slab, less than one of these, is given up.
    std::byte* const slab = map_slab(next_slab_bytes_);
    free_begin_ = slab;
    slab_end_ = slab + next_slab_bytes_;
    next_slab_bytes_ = std::min(2 * next_slab_bytes_, slab_bytes_max);
  }
  std::byte* const object = free_begin_;
  free_begin_ += bytes;
  platform::unpoison_memory(object, bytes);
  return object;
}

void* object_pool::allocate_for_good(std::size_t bytes) {
  constexpr std::size_t alignment = cache_alignment_bytes;
  static_assert(alignment % grain_bytes == 0);
  platform::require(bytes <= slab_bytes_min / 4, "memory for good is asked for in small pieces");
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  std::byte* const room = carve_bytes(rounded + alignment - grain_bytes);
  const auto begins = reinterpret_cast<std::uintptr_t>(room);
  std::byte* const block = room + (alignment - begins % alignment) % alignment;
  platform::count_as_reachable(block, rounded);
  return block;
}

void* object_pool::allocate_large(std::size_t bytes) { return cache_aligned_allocate(bytes); }

void object_pool::deallocate_large(void* memory) noexcept { cache_aligned_deallocate(memory); }

}  // namespace homing::memory
