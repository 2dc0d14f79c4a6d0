/// Blocks of all sizes out of pages of one kind: one node's, or dealt over several.
///
/// Memory comes in extents of 2 MiB, aligned to their size, so that a block's extent is found by masking its address.
/// An extent is 32 units of 64 KiB; the first holds the extent's head. A unit holds blocks of one size class, or begins
/// a run of units that is one block. Larger blocks are mappings of their own, with a head on the page before.
///
/// Ownership: the pool owns extents and large blocks; an empty extent is kept, a second one goes back to the system.
/// Threads:   all calls from any thread. One lock; the kernel is never called under it.
/// Errors:    a null pointer: no memory. A block of another owner, or of another size than it was asked for with, is a
///            programmer's error.
#pragma once

#include <homing/memory_options.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "memory/new_pages.hpp"
#include "memory/size_classes.hpp"
#include "platform/fork.hpp"
#include "sync/atomic.hpp"
#include "sync/linked_list.hpp"

namespace homing::memory {

inline constexpr std::size_t extent_bytes = std::size_t{2} << 20;
inline constexpr std::size_t unit_bytes = std::size_t{64} << 10;
inline constexpr unsigned units_in_extent = extent_bytes / unit_bytes;
inline constexpr unsigned run_units_max = 15;  ///< two such runs fill an extent
inline constexpr std::size_t run_bytes_max = run_units_max * unit_bytes;

/// What the pools of a resource may take together.
class memory_budget {
 public:
  explicit memory_budget(std::size_t most) noexcept : most_(most) {}
  [[nodiscard]] bool take(std::size_t bytes) noexcept;
  void give_back(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t taken() const noexcept { return taken_.load(sync::relaxed); }      // a figure for people
  [[nodiscard]] std::size_t taken_most() const noexcept { return high_.load(sync::relaxed); }  // the same

 private:
  const std::size_t most_;
  sync::atomic<std::size_t> taken_{0};
  sync::atomic<std::size_t> high_{0};
};

class block_pool {
 public:
  /// `owner` tells blocks of one resource from those of another; pages and budget outlive the pool.
  block_pool(const void* owner, const new_pages& pages, memory_budget& budget) noexcept
      : owner_(owner), pages_(pages), budget_(budget) {}
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;
  /// Unmaps everything.
  ~block_pool();

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept;
  /// To the pool that the block came from, from any thread. `owner`: of the resource that the caller takes it for.
  static void deallocate(const void* owner, void* block, std::size_t bytes, std::size_t alignment) noexcept;
  /// Adds what this pool knows: blocks, and what was refused.
  void add_to(memory_usage& sum) const noexcept;

 private:
  struct free_block {
    free_block* next;
  };
  struct unit;
  struct extent;
  struct large_block;
  enum class tier { small, run, large };
  struct shape {
    tier kind;
    std::size_t size_class;  // of small
    unsigned units;          // of run
  };
  [[nodiscard]] static shape shape_of(std::size_t bytes, std::size_t alignment) noexcept;
  [[nodiscard]] static extent* extent_of(void* block) noexcept;

  // Under lock_; null if a new extent is needed.
  void* take_small(std::size_t size_class) noexcept;
  void* take_run(unsigned units) noexcept;
  unit* claim(unsigned units) noexcept;
  // Under lock_; returns an extent to unmap, or null.
  extent* put_small(extent& in, unit& of, void* block) noexcept;
  extent* release(extent& in, unsigned first, unsigned units) noexcept;
  bool add_extent() noexcept;  // not under lock_
  void unmap(extent* r) noexcept;
  void* allocate_large(std::size_t bytes, std::size_t alignment) noexcept;
  void deallocate_large(large_block& head) noexcept;
  [[nodiscard]] new_pages_result take_pages(std::size_t front, std::size_t bytes, std::size_t alignment) noexcept;
  void count(std::size_t bytes) noexcept;

  const void* const owner_;
  const new_pages& pages_;
  memory_budget& budget_;

  mutable platform::object_mutex lock_;                // of all below, and of the heads of extents and large blocks
  sync::linked_list<unit> partial_[size_class_count];  // units with a free block, by class
  sync::linked_list<extent> open_;                     // extents with a free unit
  sync::linked_list<extent> full_;                     // the others
  unsigned empty_extents_ = 0;
  sync::linked_list<large_block> large_;
  std::size_t live_blocks_ = 0;
  std::size_t live_bytes_ = 0;
  std::size_t unplaced_bytes_ = 0;
  int error_number_ = 0;
};

}  // namespace homing::memory
