/// Items addressed to one domain or one slot: a bounded ring that many post to and many take from.
///
/// Bounded, because what is posted here is also in its creator's deque: a full ring only costs a hint, and an abandoned
/// one cannot grow.
///
/// Ownership: the mailbox owns neither items nor what they point to.
/// Threads:   post, take, empty: any thread. Each posted item reaches exactly one taker.
/// Order:     first in, first out. A poster that stops between its claim of a cell and its fill hides the cells behind
///            it for that long (they are in a deque too).
/// Errors:    post returns false if the ring is full. The constructor may throw std::bad_alloc.
/// Protocol:  docs/protocols/mailbox.md, labels [M1] to [M6].
/// Source:    TBB-NUMA 4.4 (mailboxes); the ring of sequence numbers is Vyukov's bounded MPMC queue.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include "platform/check.hpp"
#include "sync/atomic.hpp"

namespace homing::sync {

class mailbox {
 public:
  /// Room for at least `capacity` items, rounded up to a power of two.
  explicit mailbox(std::size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? std::size_t{2} : capacity) - 1), cells_(new cell[mask_ + 1]) {
    for (std::size_t i = 0; i <= mask_; ++i) {
      cells_[i].turn.store(i, relaxed);
    }
  }

  [[nodiscard]] bool post(std::uintptr_t item, std::uint64_t tag) noexcept {
    std::size_t at = back_.load(relaxed);
    for (;;) {
      cell& c = cells_[at & mask_];
      // [M1] acquire: the taker of the previous lap has read the cell (M5).
      const std::size_t turn = c.turn.load(acquire);
      const auto ahead = static_cast<std::intptr_t>(turn - at);
      if (ahead < 0) {
        return false;
      }
      // [M2] relaxed: the claim of an index; the cell itself is handed over by turn.
      if (ahead == 0 && back_.compare_exchange_weak(at, at + 1, relaxed, relaxed)) {
        platform::require_hot([&] { return item != 0; }, "M3: mail is not nothing");
        c.tag.store(tag, relaxed);
        c.item.store(item, relaxed);
        // [M3] release: publishes item, tag and what the item points to; partner M4.
        c.turn.store(at + 1, release);
        return true;
      }
      if (ahead > 0) {
        at = back_.load(relaxed);
      }
    }
  }

  /// Takes the oldest item, if `accepts` is true for its tag; 0 otherwise. Never looks behind the oldest.
  template <typename Filter>
  [[nodiscard]] std::uintptr_t take(Filter&& accepts) noexcept {
    std::size_t at = front_.load(relaxed);
    for (;;) {
      cell& c = cells_[at & mask_];
      // [M4] acquire: partner M3.
      const std::size_t turn = c.turn.load(acquire);
      const auto ahead = static_cast<std::intptr_t>(turn - (at + 1));
      if (ahead < 0) {
        return 0;
      }
      if (ahead == 0) {
        const std::uint64_t tag = c.tag.load(relaxed);
        const std::uintptr_t item = c.item.load(relaxed);
        if (!accepts(tag)) {
          return 0;
        }
        // [M6] relaxed: the claim of an index; whoever wins it read this lap's item, since turn says so.
        if (front_.compare_exchange_weak(at, at + 1, relaxed, relaxed)) {
          platform::require_hot([&] { return item != 0; }, "M4: a cell whose turn it is is filled");
          // [M5] release: the cell has been read and may be filled again; partner M1.
          c.turn.store(at + mask_ + 1, release);
          return item;
        }
        continue;
      }
      at = front_.load(relaxed);
    }
  }

  /// True if the oldest item is there and `accepts` is true for its tag.
  template <typename Filter>
  [[nodiscard]] bool has(Filter&& accepts) const noexcept {
    const std::size_t at = front_.load(relaxed);
    const cell& c = cells_[at & mask_];
    return c.turn.load(acquire) == at + 1 && accepts(c.tag.load(relaxed));
  }

 private:
  struct cell {
    atomic<std::size_t> turn{0};
    atomic<std::uintptr_t> item{0};
    atomic<std::uint64_t> tag{0};
  };

  alignas(cache_line_bytes) atomic<std::size_t> back_{0};
  alignas(cache_line_bytes) atomic<std::size_t> front_{0};
  alignas(cache_line_bytes) const std::size_t mask_;
  const std::unique_ptr<cell[]> cells_;
};

}  // namespace homing::sync
