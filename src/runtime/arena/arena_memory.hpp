/// Where arenas have their memory from: one block for everything that an arena is made of, kept for the next one.
///
/// An arena may live for one loop. Then one thread frees memory while another makes the next arena, and the two would
/// meet at the lock of the C library's heap.
///
/// Ownership: the supplier's, which outlives every arena. A block is its taker's until it is put back.
/// Threads:   any.
/// Errors:    take() throws std::bad_alloc.
/// Protocol:  docs/protocols/arena.md [A24].
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sync/linked_list.hpp"
#include "sync/spin_lock.hpp"

namespace homing::scheduler {

class arena_memory {
 public:
  arena_memory() = default;
  arena_memory(const arena_memory&) = delete;
  arena_memory& operator=(const arena_memory&) = delete;
  ~arena_memory() { free_all(); }

  /// A block of that size, aligned to cache lines; its contents are anything.
  [[nodiscard]] void* take(std::size_t bytes);
  /// What take() gave for so many bytes.
  void put(void* block, std::size_t bytes) noexcept;
  /// Blocks that are kept go back to the heap.
  void free_all() noexcept;

  // The child of a fork finds the list whole.
  void lock_for_fork() noexcept { lock_.lock(); }
  void unlock_after_fork() noexcept { lock_.unlock(); }

  static constexpr unsigned kept_max = 8;
  static constexpr std::size_t kept_bytes_max = std::size_t{1} << 20;  ///< of one block

 private:
  /// The begin of a block that is kept.
  struct kept_block : sync::list_hook<kept_block> {
    explicit kept_block(std::size_t size) noexcept : bytes(size) {}
    std::size_t bytes;
  };
  kept_block* swap_for_oldest(kept_block& newest) noexcept;

  sync::spin_lock lock_;
  sync::linked_list<kept_block> kept_;  ///< the newest first
  unsigned count_ = 0;
};

/// Deals a block out, piece by piece. Pieces with the strictest alignment come first, so that none is wasted.
class arena_room {
 public:
  explicit arena_room(void* first) noexcept : next_(static_cast<std::byte*>(first)) {}

  /// So many of them, default-initialized; whoever takes them ends them.
  template <typename T>
  [[nodiscard]] std::span<T> make(std::size_t count) noexcept {
    T* const first = reinterpret_cast<T*>(next_);
    std::uninitialized_default_construct_n(first, count);
    next_ += count * sizeof(T);
    return {first, count};
  }

 private:
  std::byte* next_;
};

}  // namespace homing::scheduler
