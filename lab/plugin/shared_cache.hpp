/// A last-level cache: set-associative, the least recently used line leaves. Lines are physical line numbers.
///
/// Threads: all calls from any; a lock a set.
/// Errors:  none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>

#include "machine.hpp"
#include "private_cache.hpp"
#include "spin_lock.hpp"

namespace homing::lab::model {

class shared_cache {
 public:
  explicit shared_cache(const cache_shape& shape)
      : ways_(shape.ways),
        set_of_(shape.sets()),
        words_(new std::uint64_t[shape.sets() * shape.ways]{}),
        locks_(new spin_lock[shape.sets()]) {}

  /// The line's set will be changed soon.
  void prefetch(std::uint64_t line) const noexcept {
    const std::uint64_t set = set_of_(line);
    __builtin_prefetch(&locks_[set], 1);
    __builtin_prefetch(words_of(set), 1);
    __builtin_prefetch(words_of(set) + ways_ - 1, 1);
  }
  /// True if the line is here; it becomes the youngest of its set.
  bool touch(std::uint64_t line) noexcept {
    const std::uint64_t set = set_of_(line);
    const std::lock_guard guard(locks_[set]);
    std::uint64_t* const way = find(set, line);
    if (way == nullptr) return false;
    std::rotate(words_of(set), way, way + 1);
    return true;
  }
  /// True if the line is here, of whatever age; `dirty`: it is so from now on.
  [[nodiscard]] bool has(std::uint64_t line, bool dirty) noexcept {
    const std::uint64_t set = set_of_(line);
    const std::lock_guard guard(locks_[set]);
    std::uint64_t* const way = find(set, line);
    if (way == nullptr) return false;
    *way |= dirty ? 1 : 0;
    return true;
  }
  /// Puts a line in or, if it is here, makes it the youngest. Once dirty, it stays so until it leaves.
  private_cache::victim insert(std::uint64_t line, bool dirty) noexcept {
    const std::uint64_t set = set_of_(line);
    const std::lock_guard guard(locks_[set]);
    std::uint64_t* way = find(set, line);
    private_cache::victim out;
    if (way == nullptr) {
      way = words_of(set) + ways_ - 1;
      if (*way != 0) out = {true, (*way & 1) != 0, (*way >> 1) - 1};
      *way = name_of(line);
    }
    *way |= dirty ? 1 : 0;
    std::rotate(words_of(set), way, way + 1);
    return out;
  }
  /// Takes a line away. Returns true if it was here and dirty.
  bool invalidate(std::uint64_t line) noexcept {
    const std::uint64_t set = set_of_(line);
    const std::lock_guard guard(locks_[set]);
    std::uint64_t* const way = find(set, line);
    if (way == nullptr) return false;
    const bool dirty = (*way & 1) != 0;
    std::rotate(way, way + 1, words_of(set) + ways_);
    words_of(set)[ways_ - 1] = 0;  // free slots are the oldest
    return dirty;
  }

 private:
  static std::uint64_t name_of(std::uint64_t line) noexcept { return (line + 1) << 1; }  // 0 is an empty slot
  [[nodiscard]] std::uint64_t* words_of(std::uint64_t set) const noexcept { return words_.get() + set * ways_; }
  [[nodiscard]] std::uint64_t* find(std::uint64_t set, std::uint64_t line) const noexcept {
    std::uint64_t* const first = words_of(set);
    std::uint64_t* const way = std::find_if(
        first, first + ways_, [&](std::uint64_t word) { return (word & ~std::uint64_t{1}) == name_of(line); });
    return way == first + ways_ ? nullptr : way;
  }

  std::uint64_t ways_;
  set_index set_of_;
  std::unique_ptr<std::uint64_t[]> words_;  // youngest first in each set
  std::unique_ptr<spin_lock[]> locks_;
};

}  // namespace homing::lab::model
