/// Items addressed to one domain or one slot: a bounded ring that many post to and many take from.
///
/// Bounded, because what is posted here is also in its creator's deque: a full ring only costs a hint, and an abandoned
/// one cannot grow.
///
/// Ownership: the mailbox owns neither items nor what they point to; its cells, unless it is given a room for them.
/// Threads:   post, take, empty: any thread. Each posted item reaches exactly one taker.
/// Order:     first in, first out. A poster that stops between its claim of a cell and its fill hides the cells behind
///            it for that long (they are in a deque too).
/// Errors:    post returns false if the ring is full. The constructor may throw std::bad_alloc.
/// Protocol:  docs/protocols/mailbox.md, labels [M1] to [M5].
/// Source:    TBB-NUMA 4.4 (mailboxes); the ring of sequence numbers is Vyukov's bounded MPMC queue, but that takers
///            write no cell: they would take its line from the poster just as they need what the item points to.
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
      : mask_(cells_for(capacity) - 1), own_cells_(new cell[mask_ + 1]), cells_(own_cells_.get()) {}
  /// The same with its cells in `room`, which outlives it: bytes_for(capacity) - sizeof(mailbox) bytes, aligned as a
  /// word.
  mailbox(std::size_t capacity, void* room) noexcept
      : mask_(cells_for(capacity) - 1), cells_(static_cast<cell*>(room)) {
    std::uninitialized_default_construct_n(cells_, mask_ + 1);
  }
  /// Of a mailbox and its cells behind it.
  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t capacity) noexcept {
    return sizeof(mailbox) + cells_for(capacity) * sizeof(cell);
  }

  [[nodiscard]] bool post(std::uintptr_t item, std::uint64_t tag) noexcept {
    std::size_t at = back_.load(relaxed);
    for (;;) {
      if (!has_room(at)) {
        return false;
      }
      // [M2] relaxed: the claim of an index; the cell itself is the claimer's by M1.
      if (back_.compare_exchange_weak(at, at + 1, relaxed, relaxed)) {
        cell& c = cells_[at & mask_];
        platform::require_hot([&] { return item != 0; }, "M3: mail is not nothing");
        c.tag.store(tag, relaxed);
        c.item.store(item, relaxed);
        // [M3] release: publishes item, tag and what the item points to; partner M4.
        c.turn.store(at + 1, release);
        return true;
      }
    }
  }

  /// Takes the oldest item, if `accepts` is true for its tag; 0 otherwise. Never looks behind the oldest.
  template <typename Filter>
  [[nodiscard]] std::uintptr_t take(Filter&& accepts) noexcept {
    std::size_t at = front_.load(relaxed);
    for (;;) {
      const cell& c = cells_[at & mask_];
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
        // [M5] The claim. release: the cell has been read, and may be filled again; partner M1. Whoever wins has read
        // this lap's item: nobody fills the cell before.
        if (front_.compare_exchange_weak(at, at + 1, release, relaxed)) {
          platform::require_hot([&] { return item != 0; }, "M4: a cell whose turn it is is filled");
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
    atomic<std::size_t> turn{0};  ///< the index of the item in it, and 1 more; 0: none has been here
    atomic<std::uintptr_t> item{0};
    atomic<std::uint64_t> tag{0};
  };

  static constexpr std::size_t cells_for(std::size_t capacity) noexcept {
    return std::bit_ceil(capacity < 2 ? std::size_t{2} : capacity);
  }

  /// Poster: the item of the lap before has been taken from the cell of that index.
  [[nodiscard]] bool has_room(std::size_t at) noexcept {
    // Signed: `at` may be old, and all up to it taken.
    const auto is_room = [&](std::size_t front) {
      return static_cast<std::intptr_t>(at - front) <= static_cast<std::intptr_t>(mask_);
    };
    // [M1] acquire, both: the takers up to that front have read their cells (M5), as this poster found or another one.
    if (is_room(front_seen_.load(acquire))) {
      return true;
    }
    const std::size_t front = front_.load(acquire);
    front_seen_.store(front, release);  // an older one may come later: it only costs another look
    return is_room(front);
  }

  alignas(cache_line_bytes) atomic<std::size_t> back_{0};
  atomic<std::size_t> front_seen_{0};  ///< by posters: takers' line is asked for once a lap
  alignas(cache_line_bytes) atomic<std::size_t> front_{0};
  alignas(cache_line_bytes) const std::size_t mask_;
  const std::unique_ptr<cell[]> own_cells_;
  cell* const cells_;
};

}  // namespace homing::sync
