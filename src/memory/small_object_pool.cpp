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

/// [OP1] What is in the link of an object that is on a stack already, until its giver says what lies below: odd, so no
/// object's address. [OP4] A fork's child has another: the giver may not be in it. Apart from what is written often.
struct alignas(sync::cache_line_bytes) unlinked_mark {
  sync::atomic<std::uintptr_t> value = 1;
};
constinit unlinked_mark mark_of_this_process;

const platform::fork_part orphans_over_fork(
    platform::fork_layer::memory, [] { orphans.lock.lock(); }, [] { orphans.lock.unlock(); },
    [] {
      mark_of_this_process.value.store(mark_of_this_process.value.load(sync::relaxed) + 2, sync::relaxed);  // [OP4]
      orphans.lock.unlock();
    });

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
  auto* const mark = reinterpret_cast<free_object*>(mark_of_this_process.value.load(sync::relaxed));
  auto* const object = new (memory) free_object(mark);  // [OP1] before the exchange, which publishes it
  poison(object, index);
  // [OP1] release: the mark, and the last use of the object, to [OP2]. What was the top is stored, never followed.
  free_object* const top = remote_[index].exchange(object, sync::release);
  object->next.store(top, sync::release);  // [OP1] the last access, before the owner's next use [OP2]
}

/// [OP2] What lies below an object that was taken from a stack; nothing while its giver has yet to say so.
std::optional<object_pool::free_object*> object_pool::below(const free_object& given) noexcept {
  free_object* const next = given.next.load(sync::acquire);  // [OP2] pairs with [OP1]
  const auto word = reinterpret_cast<std::uintptr_t>(next);
  if (word % 2 == 0) [[likely]] {
    return next;
  }
  if (word != mark_of_this_process.value.load(sync::relaxed)) {
    return nullptr;  // [OP4] nobody will ever say
  }
  return std::nullopt;
}

void* object_pool::refill(std::size_t index) {
  free_object*& taken = taken_[index];
  // relaxed: a hint that saves the exchange; an object that arrives now is found next time.
  if (taken == nullptr && remote_[index].load(sync::relaxed) != nullptr) {
    taken = remote_[index].exchange(nullptr, sync::acquire);  // [OP2] pairs with [OP1] of all that are on it
  }
  if (free_object* const object = taken; object != nullptr) {
    if (const std::optional<free_object*> rest = below(*object)) {
      taken = *rest;
      return take_off_list(object, index);
    }
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
