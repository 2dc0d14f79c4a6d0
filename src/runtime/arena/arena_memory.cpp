#include "runtime/arena/arena_memory.hpp"

#include <new>
#include <utility>

#include "platform/check.hpp"
#include "platform/sanitizer.hpp"

namespace homing::scheduler {
namespace {

constexpr std::align_val_t line{sync::cache_line_bytes};

// Of the C++ heap, and not of memory::cache_aligned_allocate: the child of a fork needs an arena, and the locks of
// oneTBB's allocator may be taken there by threads that it does not have. [A21]
void* allocate(std::size_t bytes) { return ::operator new(bytes, line); }
void deallocate(void* block) noexcept { ::operator delete(block, line); }

}  // namespace

void* arena_memory::take(std::size_t bytes) {
  {
    const sync::scoped_spin_lock hold(lock_);
    for (kept_block* found = kept_.first(); found != nullptr; found = found->next) {
      if (found->bytes == bytes) {
        kept_.remove(*found);
        --count_;
        platform::unpoison_memory(found, bytes);
        return found;
      }
    }
  }
  return allocate(bytes);
}

// [A24] Its last user has come here after all others; whoever takes the block next comes after the lock.
void arena_memory::put(void* block, std::size_t bytes) noexcept {
  if (bytes > kept_bytes_max) {
    deallocate(block);
    return;
  }
  auto* const newest = new (block) kept_block(bytes);
  platform::poison_memory(newest + 1, bytes - sizeof(kept_block));
  if (kept_block* const oldest = swap_for_oldest(*newest)) {
    platform::unpoison_memory(oldest, oldest->bytes);
    deallocate(oldest);
  }
}

/// Keeps it; null, or the one that is too many then: a size that is asked for no more goes in the end.
arena_memory::kept_block* arena_memory::swap_for_oldest(kept_block& newest) noexcept {
  const sync::scoped_spin_lock hold(lock_);
  kept_.push_front(newest);
  if (++count_ <= kept_max) {
    return nullptr;
  }
  --count_;
  platform::require(count_ == kept_max && !kept_.empty(), "A24: so many blocks are kept, and no more");
  kept_block* const oldest = kept_.last();
  kept_.remove(*oldest);
  return oldest;
}

void arena_memory::free_all() noexcept {
  sync::linked_list<kept_block> all;
  {
    const sync::scoped_spin_lock hold(lock_);
    all = std::exchange(kept_, {});
    count_ = 0;
  }
  while (kept_block* const one = all.pop_front()) {
    platform::unpoison_memory(one, one->bytes);
    deallocate(one);
  }
}

}  // namespace homing::scheduler
