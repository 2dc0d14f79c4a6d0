/// Which allocator serves, and the padding that makes malloc's blocks cache-aligned.
#include "memory/cache_aligned.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "platform/sanitizer.hpp"
#include "sync/atomic.hpp"
#include "sync/spin_lock.hpp"

namespace homing::memory {
namespace {

/// malloc with room for alignment: the block's true start is in the word before what the caller gets.
void* padded_malloc(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t padding = alignment + sizeof(void*);
  if (bytes > SIZE_MAX - padding) {
    return nullptr;
  }
  void* const start = std::malloc(bytes + padding);
  if (start == nullptr) {
    return nullptr;
  }
  const auto first = reinterpret_cast<std::uintptr_t>(start) + sizeof(void*);
  const std::uintptr_t aligned = (first + alignment - 1) & ~(std::uintptr_t{alignment} - 1);
  reinterpret_cast<void**>(aligned)[-1] = start;
  return reinterpret_cast<void*>(aligned);
}

void padded_free(void* block) noexcept {
  if (block != nullptr) {
    std::free(static_cast<void**>(block)[-1]);
  }
}

struct allocator {
  void* (*allocate)(std::size_t bytes) = &std::malloc;
  void (*deallocate)(void* block) = &std::free;
  void* (*allocate_aligned)(std::size_t bytes, std::size_t alignment) = &padded_malloc;
  void (*deallocate_aligned)(void* block) = &padded_free;
  bool scalable = false;
};

template <typename Function>
bool find(void* library, const char* name, Function*& function) noexcept {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

allocator choose() noexcept {
  if (platform::sanitizer_tracks_malloc) {
    return {};  // so that the sanitizer sees overruns and leaks of these blocks too
  }
  // RTLD_LOCAL: its malloc-like names must not reach the program. Never closed: blocks outlive everything.
  void* const library = ::dlopen("libtbbmalloc.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return {};  // an allowed set-up, not an error; scalable_allocator_in_use() tells
  }
  allocator found;
  if (find(library, "scalable_malloc", found.allocate) && find(library, "scalable_free", found.deallocate) &&
      find(library, "scalable_aligned_malloc", found.allocate_aligned) &&
      find(library, "scalable_aligned_free", found.deallocate_aligned)) {
    found.scalable = true;
    return found;
  }
  return {};
}

constinit sync::atomic<const allocator*> selected{nullptr};

/// No lock is held while the loader works: a thread that loads a library whose constructors allocate through us holds
/// the loader's lock, and would wait for ours. Threads that get here together find the same; the first one's stays.
/// Not on the heap: this runs when the library is loaded, where there is nobody to tell that there is no memory.
[[gnu::noinline]] const allocator& select() noexcept {
  static constinit sync::spin_lock lock;
  static constinit allocator place;
  const allocator mine = choose();
  const sync::scoped_spin_lock hold(lock);
  if (selected.load(sync::relaxed) == nullptr) {
    place = mine;
    selected.store(&place, sync::release);  // publishes the table to chosen()
  }
  return place;
}

const allocator& chosen() noexcept {
  const allocator* const one = selected.load(sync::acquire);  // pairs with the release in select()
  return one != nullptr ? *one : select();
}

/// Chosen when this library is loaded, if no other library's constructor has asked before.
[[maybe_unused]] const allocator& chosen_at_load = chosen();

void* or_throw(void* block) {
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  return block;
}

}  // namespace

void* cache_aligned_allocate(std::size_t bytes) {
  return or_throw(chosen().allocate_aligned(bytes != 0 ? bytes : 1, cache_alignment_bytes));
}

void cache_aligned_deallocate(void* block) noexcept { chosen().deallocate_aligned(block); }

void* plain_allocate(std::size_t bytes) { return or_throw(chosen().allocate(bytes != 0 ? bytes : 1)); }

void plain_deallocate(void* block) noexcept { chosen().deallocate(block); }

bool scalable_allocator_in_use() noexcept { return chosen().scalable; }

}  // namespace homing::memory
