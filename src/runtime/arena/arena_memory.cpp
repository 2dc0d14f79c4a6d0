#include "runtime/arena/arena_memory.hpp"

#include <new>
#include <utility>

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
    for (kept_block** place = &newest_; *place != nullptr; place = &(*place)->next) {
      kept_block* const found = *place;
      if (found->bytes == bytes) {
        *place = found->next;
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
  auto* const newest = new (block) kept_block{nullptr, bytes};
  platform::poison_memory(newest + 1, bytes - sizeof(kept_block));
  if (kept_block* const oldest = swap_for_oldest(*newest)) {
    platform::unpoison_memory(oldest, oldest->bytes);
    deallocate(oldest);
  }
}

/// Keeps it; null, or the one that is too many then: a size that is asked for no more goes in the end.
arena_memory::kept_block* arena_memory::swap_for_oldest(kept_block& newest) noexcept {
  const sync::scoped_spin_lock hold(lock_);
  newest.next = newest_;
  newest_ = &newest;
  if (++count_ <= kept_max) {
    return nullptr;
  }
  --count_;
  kept_block* before = newest_;
  while (before->next->next != nullptr) {
    before = before->next;
  }
  return std::exchange(before->next, nullptr);
}

void arena_memory::free_all() noexcept {
  kept_block* all = nullptr;
  {
    const sync::scoped_spin_lock hold(lock_);
    all = std::exchange(newest_, nullptr);
    count_ = 0;
  }
  while (all != nullptr) {
    kept_block* const one = std::exchange(all, all->next);
    platform::unpoison_memory(one, one->bytes);
    deallocate(one);
  }
}

}  // namespace homing::scheduler
