/// The memory of tasks: free lists that belong to one thread, over slabs that this thread touched first.
///
/// Ownership: a pool belongs to one thread from acquire() to release(); then it waits for its domain's next thread.
///            Pools and their slabs are never unmapped, since an object may come back long after its thread has ended.
/// Threads:   deallocate_remote() by any thread, all else by the owner only.
/// Placement: a slab is touched first by the thread that carves objects from it, so its pages are near that thread.
/// Sizes:     up to object_bytes_max in steps of 64 bytes, aligned to 64, and to 128 where the size is a multiple of
///            it: a callable may ask for that, as on the stock library. Larger ones are cache-aligned heap blocks.
///            No object has a header: who frees one says its size.
/// Protocol:  docs/protocols/object_pool.md.
#pragma once

#include <oneapi/tbb/detail/_small_object_pool.h>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>

#include "platform/sanitizer.hpp"
#include "sync/atomic.hpp"
#include "sync/linked_list.hpp"

namespace homing::memory {

class object_pool final : public tbb::detail::d1::small_object_pool,
                          public sync::list_hook<object_pool> {  // on the list of those that ended threads left
 public:
  static constexpr std::size_t grain_bytes = 64;
  static constexpr std::size_t object_bytes_max = 512;

  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;

  /// Memory for `bytes` bytes, aligned to 64, and to 128 if `bytes` is a multiple of 128. Owner only. Throws
  /// std::bad_alloc.
  [[nodiscard]] void* allocate(std::size_t bytes) {
    const std::size_t index = class_of(bytes);
    if (index >= class_count) [[unlikely]] {
      return allocate_large(bytes);
    }
    free_object* const object = local_[index];
    if (object == nullptr) [[unlikely]] {
      return refill(index);
    }
    local_[index] = object->next.load(sync::relaxed);
    return take_off_list(object, index);
  }

  /// Gives back what allocate(bytes) of this pool returned. Owner only.
  void deallocate_local(void* memory, std::size_t bytes) noexcept {
    const std::size_t index = class_of(bytes);
    if (index >= class_count) [[unlikely]] {
      deallocate_large(memory);
      return;
    }
    local_[index] = new (memory) free_object(local_[index]);
    poison(local_[index], index);
  }

  /// Gives back what allocate(bytes) of `pool` returned. By the owner of this one.
  void deallocate(object_pool& pool, void* memory, std::size_t bytes) noexcept {
    if (&pool == this) {
      deallocate_local(memory, bytes);
    } else {
      pool.deallocate_remote(memory, bytes);
    }
  }

  /// Gives back what allocate(bytes) of this pool returned. Any thread; one exchange, without a loop.
  void deallocate_remote(void* memory, std::size_t bytes) noexcept;

  /// Zero bytes that are never given back, aligned to 128: for what a thread leaves behind. Owner only. Up to 16 KiB.
  /// Throws std::bad_alloc.
  [[nodiscard]] void* allocate_for_good(std::size_t bytes);

  /// A pool for the calling thread: one that an ended thread of `domain` left behind, or a new one.
  /// Throws std::bad_alloc. One short lock.
  [[nodiscard]] static object_pool& acquire(unsigned domain);

  /// The owner leaves; objects may still come back by deallocate_remote() and serve the next owner.
  static void release(object_pool& pool) noexcept;

  /// The domain for which the pool was made: a dense index.
  [[nodiscard]] unsigned domain() const noexcept { return domain_; }

 private:
  struct free_object {
    explicit free_object(free_object* n) noexcept : next(n) {}
    sync::atomic<free_object*> next;  // the owner's lists: relaxed; [OP1] on the stack, and of what was taken from it
  };

  static constexpr std::size_t class_count = object_bytes_max / grain_bytes;

  /// Class i holds objects of (i + 1) * 64 bytes; an empty object takes the smallest.
  static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    return (bytes - static_cast<std::size_t>(bytes != 0)) / grain_bytes;
  }
  static constexpr std::size_t bytes_of(std::size_t index) noexcept { return (index + 1) * grain_bytes; }

  /// The link stays readable: the owner follows it, and never an object's own bytes.
  static void poison(free_object* object, std::size_t index) noexcept {
    platform::poison_memory(object + 1, bytes_of(index) - sizeof(free_object));
  }

  /// The memory of an object that is on no list any more.
  static void* take_off_list(free_object* object, std::size_t index) noexcept {
    std::destroy_at(object);
    platform::unpoison_memory(object, bytes_of(index));
    return object;
  }

  object_pool(unsigned domain, std::byte* free_begin, std::byte* slab_end) noexcept
      : domain_(domain), free_begin_(free_begin), slab_end_(slab_end) {}

  static object_pool& create(unsigned domain);
  void* refill(std::size_t index);
  static std::optional<free_object*> below(const free_object& given) noexcept;
  void* carve(std::size_t index);
  std::byte* carve_bytes(std::size_t bytes);
  static void* allocate_large(std::size_t bytes);
  static void deallocate_large(void* memory) noexcept;

  // The owner's: plain fields.
  free_object* local_[class_count] = {};
  unsigned domain_;
  std::byte* free_begin_;  // the part of the newest slab that was never handed out
  std::byte* slab_end_;
  std::size_t next_slab_bytes_ = slab_bytes_min;
  free_object* taken_[class_count] = {};  // [OP2] what was on the stack when it was last emptied, the newest first

  // Everybody's: objects that other threads gave back, one stack a class, each always emptied whole.
  alignas(sync::cache_line_bytes) sync::atomic<free_object*> remote_[class_count] = {};

  static constexpr std::size_t slab_bytes_min = std::size_t{64} * 1024;
  static constexpr std::size_t slab_bytes_max = std::size_t{1024} * 1024;
};

}  // namespace homing::memory
