/// A shared queue in several parts, its shards, so that threads which push and take at the same time seldom meet.
///
/// Each pusher has a shard and stays with it: its items keep their order. Takers go round the shards, so that none
/// waits for ever behind another. One word, a bit a shard, says where something is: all who look for work read it, and
/// it changes only where a shard becomes empty, or is no longer.
///
/// Ownership: the queue owns neither items, nor what they point to, nor the memory of its shards.
/// Threads:   all calls from any thread.
/// Order:     first in, first out, among one shard's items.
/// Errors:    as shared_queue's.
/// Wake-up:   not here: docs/protocols/sleep.md [S2].
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "platform/check.hpp"
#include "sync/shared_queue.hpp"

namespace homing::sync {

/// A queue's own bit of the word that all of them share.
class shard_mark {
 public:
  void is_bit_of(atomic<std::uint64_t>& word, unsigned bit) noexcept {
    word_ = &word;
    mask_ = std::uint64_t{1} << bit;
  }
  // relaxed, both: hints; the lock of the shard's pushers is held.
  void set() noexcept { word_->fetch_or(mask_, relaxed); }
  void clear() noexcept { word_->fetch_and(~mask_, relaxed); }
  [[nodiscard]] bool is_set() const noexcept { return (word_->load(relaxed) & mask_) != 0; }

 private:
  atomic<std::uint64_t>* word_ = nullptr;
  std::uint64_t mask_ = 0;
};

template <typename T, typename Link>
class sharded_queue {
 public:
  using shard = shared_queue<T, Link, shard_mark>;
  static constexpr unsigned shards_max = 64;

  /// So many that it is a power of two, and no more than shards_max.
  explicit sharded_queue(std::span<shard> shards) noexcept : shards_(shards) {
    platform::require(std::has_single_bit(shards.size()) && shards.size() <= shards_max,
                      "a sharded queue has a power of two of shards, at most 64");
    for (unsigned i = 0; i < shards.size(); ++i) {
      shards[i].mark().is_bit_of(filled_, i);
    }
  }

  /// `pusher`: a number of the pushing thread's, always the same.
  void push(T& item, unsigned pusher) { shards_[pusher & (shards_.size() - 1)].push(item); }

  /// Takes of a shard's items the oldest that `accepts` is true for; none from a shard that somebody else takes from.
  /// `next`: where the taker begins; the shard behind the one from which it has taken, afterwards.
  template <typename Filter>
  [[nodiscard]] T* try_take_if(unsigned& next, Filter&& accepts) noexcept {
    std::uint64_t filled = filled_.load(relaxed);
    while (filled != 0) {
      const std::uint64_t behind = filled & (~std::uint64_t{0} << next);
      const auto at = static_cast<unsigned>(std::countr_zero(behind != 0 ? behind : filled));
      if (T* const item = shards_[at].try_take_if(accepts)) {
        next = (at + 1) % shards_max;
        return item;
      }
      filled &= ~(std::uint64_t{1} << at);
    }
    return nullptr;
  }

  /// A hint, exact once the pushing thread and this one have met a fence.
  [[nodiscard]] bool empty() const noexcept { return filled_.load(relaxed) == 0; }

  [[nodiscard]] std::span<shard> shards() const noexcept { return shards_; }

  /// Over a fork.
  void lock_for_fork() noexcept {
    for (shard& s : shards_) {
      s.lock_for_fork();
    }
  }
  void unlock_after_fork() noexcept {
    for (shard& s : shards_) {
      s.unlock_after_fork();
    }
  }

 private:
  const std::span<shard> shards_;
  alignas(cache_line_bytes) atomic<std::uint64_t> filled_{0};  ///< a bit a shard: it holds something
};

}  // namespace homing::sync
