/// One thread's tasks: the owner pushes and pops at the tail, thieves take from the head, each entry claimed by itself.
///
/// The array is not circular. An entry belongs to whoever swaps its item for null, so that each item reaches exactly
/// one taker whatever head and tail say; head and tail only tell where to look. A taker may pass over entries that it
/// must leave (isolation, affinity) and take a later one; that leaves a hole. Popping down to index 0 resets both ends.
///
/// Ownership: the deque owns neither items nor what they point to.
/// Threads:   push, pop, reserve: the owner (whoever holds the arena slot). steal, looks_empty, any: any thread.
/// Order:     owner LIFO, thieves FIFO, among the entries that the filter accepts. Lock-free for thieves; wait-free for
///            the owner but for growth.
/// Errors:    push throws std::bad_alloc if the array is full and cannot grow, try_push() returns false; the deque is
///            then unchanged.
/// Protocol:  docs/protocols/deque.md, labels [D1] to [D12].
/// Source:    TBB-NUMA figure 5, rules 3 and 6 (owner LIFO, thieves FIFO); Arora, Blumofe, Plaxton 1998 (the idea of
///            two ends), with entries claimed one by one instead of by index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "platform/check.hpp"
#include "sync/asymmetric_fence.hpp"
#include "sync/atomic.hpp"

namespace homing::sync {

/// `item` is an opaque non-null word; `tag` is what a taker may look at before it owns the item.
struct deque_item {
  std::uintptr_t item = 0;
  std::uint64_t tag = 0;
};

class work_deque {
  struct ignore_uncovered {
    void operator()() const noexcept {}
  };

 public:
  /// Of the first array, which needs no memory, and of the next, from which on they double.
  static constexpr std::size_t initial_capacity = size_or_modelled(16, 2);
  static constexpr std::size_t second_capacity = size_or_modelled(64, 4);

  // Not initialized: the first entries.
  work_deque() noexcept {}  // NOLINT(modernize-use-equals-default): `= default` would clear them
  work_deque(const work_deque&) = delete;
  work_deque& operator=(const work_deque&) = delete;

  ~work_deque() {
    while (newest_ != nullptr && newest_ != &first_array_) {
      delete std::exchange(newest_, newest_->older);
    }
    std::destroy_n(first_array_.entries, first_array_.capacity);
  }

  /// Owner only. Adds at the tail.
  void push(std::uintptr_t item, std::uint64_t tag) {
    if (!try_push(item, tag)) {
      throw std::bad_alloc();
    }
  }
  [[nodiscard]] bool try_push(std::uintptr_t item, std::uint64_t tag) noexcept {
    return try_push_at_once(item, tag) || (make_room() && try_push_at_once(item, tag));
  }
  /// The same where the array need not be changed; false if it must.
  [[nodiscard]] bool try_push_at_once(std::uintptr_t item, std::uint64_t tag) noexcept {
    const std::size_t at = tail_.load(relaxed);
    if (__builtin_expect(at >= owner_capacity_, false)) {
      return false;
    }
    entry& e = owner_array_[at];
    platform::require_hot([&] { return item != 0 && e.item.load(relaxed) == 0; }, "D1: an entry at the tail is empty");
    // [D1] The tag is written before the item, and the item before the tail: release on each, acquired by D5 and D4.
    e.tag.store(tag, relaxed);
    e.item.store(item, release);
    tail_.store(at + 1, release);
    return true;
  }

  /// Owner only. Makes room, so that the next push cannot fail; false if it cannot. `uncovered` is called when entries
  /// are in sight again that were hidden from other threads meanwhile. [D8]
  template <typename Uncovered = ignore_uncovered>
  [[nodiscard]] bool reserve_one(Uncovered&& uncovered = {}) noexcept {
    if (__builtin_expect(tail_.load(relaxed) < owner_capacity_, true)) {
      return true;
    }
    const bool has_made_room = make_room();
    uncovered();
    return has_made_room;
  }

  /// Owner only. Takes the youngest entry whose tag `accepts` returns true for; item 0 if there is none.
  template <typename Filter>
  [[nodiscard]] deque_item pop(Filter&& accepts) noexcept {
    std::size_t at = tail_.load(relaxed);
    bool passed_over = false;
    while (at > 0) {
      --at;
      entry& e = owner_array_[at];
      if (e.item.load(relaxed) == 0) {
        continue;  // a hole: a thief's, or ours from an earlier pass
      }
      const std::uint64_t tag = e.tag.load(relaxed);
      if (!accepts(tag)) {
        passed_over = true;
        continue;
      }
      // relaxed: an item that the owner gets is its own; where a thief was first, nothing of the thief's is used.
      const std::uintptr_t item = passed_over ? e.item.exchange(0, relaxed) : claim_newest(at);  // [D3]
      if (item != 0) {
        return {item, tag};
      }
    }
    if (!passed_over && tail_.load(relaxed) != 0) {
      platform::require_hot([&] { return is_empty_below(tail_.load(relaxed)); }, "D7: all has been popped");
      begin_arrangement();  // [D7]
    }
    return {};
  }

  /// Owner only. The same if the entry at the tail will do; item 0 says nothing, and pop() looks further.
  template <typename Filter>
  [[nodiscard]] deque_item pop_newest(Filter&& accepts) noexcept {
    const std::size_t tail = tail_.load(relaxed);
    if (tail == 0) {
      return {};
    }
    entry& e = owner_array_[tail - 1];
    const std::uint64_t tag = e.tag.load(relaxed);
    if (e.item.load(relaxed) == 0 || !accepts(tag)) {
      return {};
    }
    return {claim_newest(tail - 1), tag};
  }

  /// Any thread. Takes the oldest entry whose tag `accepts` returns true for. `accepts` may see a tag that belongs to
  /// another item than the one taken (the entry was reused in between): verify what was taken. `uncovered` is called
  /// when entries are in sight again that this thief had hidden from other threads for a moment. [D10]
  template <typename Filter, typename Uncovered = ignore_uncovered>
  [[nodiscard]] deque_item steal(Filter&& accepts, Uncovered&& uncovered = {}) noexcept {
    deque_item taken;
    static_cast<void>(steal_up_to([](std::size_t) { return std::size_t{1}; }, &taken, accepts, uncovered));
    return taken;
  }
  /// The same for several, the oldest first: at most as many as `into` has room for (> 0), and one for `one_of` (> 0)
  /// that are in sight, but one in any case. Behind the first taken it passes none over. Returns how many. [D11]
  template <typename Filter, typename Uncovered = ignore_uncovered>
  [[nodiscard]] std::size_t steal_some(std::span<deque_item> into, std::size_t one_of, Filter&& accepts,
                                       Uncovered&& uncovered = {}) noexcept {
    const auto wanted_of = [&](std::size_t in_sight) {
      return std::min(into.size(), std::max<std::size_t>(1, in_sight / one_of));
    };
    return steal_up_to(wanted_of, into.data(), accepts, uncovered);
  }

  /// Any thread. A steal from here follows soon: asks for the lines that it will read, so that it need not wait then
  /// if its thread has something to do meanwhile. To read only: there may be nothing, and the owner writes them.
  void expect_steal() const noexcept {
    expect_read(&tail_);
    // relaxed, both: hints, and the array is compared only.
    const std::size_t from = index_in(head_.load(relaxed));
    if (from < initial_capacity && shared_array_.load(relaxed) == &first_array_) {
      expect_read(first_entries_ + from * sizeof(entry));
    }
  }

  /// Any thread. True if some entry that `accepts` is true for is there; may miss one that is being pushed or moved at
  /// this moment (its pusher then looks for sleepers itself: docs/protocols/sleep.md), or that a thief hides. [D10]
  template <typename Filter>
  [[nodiscard]] bool has(Filter&& accepts) const noexcept {
    // relaxed: where it matters, the looking thread has passed a fence that the pusher's meets.
    const std::size_t to = tail_.load(relaxed);
    if (to == 0) {
      return false;  // mostly, and one line tells [D7]
    }
    const array* a = shared_array_.load(acquire);
    const std::size_t end = a == nullptr ? 0 : (to < a->capacity ? to : a->capacity);
    for (std::size_t at = index_in(head_.load(relaxed)); at < end; ++at) {
      if (a->entries[at].item.load(acquire) != 0 && accepts(a->entries[at].tag.load(relaxed))) {
        return true;
      }
    }
    return false;
  }

  /// Any thread, as the next two: how many entries are there, those included that somebody is just taking; a hint.
  [[nodiscard]] std::size_t about_size() const noexcept {
    const std::size_t head = index_in(head_.load(relaxed));
    const std::size_t tail = tail_.load(relaxed);
    return tail > head ? tail - head : 0;
  }
  /// The same: what changes with each push and each pop of the owner's, and with no steal. Not 0, unless the deque
  /// looks empty; as many of each leave it as it was.
  [[nodiscard]] std::uint64_t owners_state() const noexcept {
    const std::size_t head = head_.load(relaxed);
    return head - index_in(head) + tail_.load(relaxed);
  }
  /// A hint without a look at the entries. An owner that has popped all leaves both ends at 0 [D7]: one line tells
  /// then.
  [[nodiscard]] bool looks_empty() const noexcept {
    const std::size_t end = tail_.load(relaxed);
    return end == 0 || index_in(head_.load(relaxed)) >= end;
  }
  /// The same: at most one entry.
  [[nodiscard]] bool has_at_most_one() const noexcept {
    const std::size_t end = tail_.load(relaxed);
    return end <= 1 || index_in(head_.load(relaxed)) + 1 >= end;
  }

 private:
  struct entry {
    atomic<std::uintptr_t> item{0};
    atomic<std::uint64_t> tag{0};
  };
  struct array {
    std::size_t capacity = 0;
    entry* entries = nullptr;
    std::unique_ptr<entry[]> owned = nullptr;  ///< the entries, but for the first array's
    array* older = nullptr;
  };

  // Head says where thieves begin, and in which of the owner's arrangements of the entries. [D12]
  static constexpr unsigned index_bits = 32;
  static constexpr std::size_t one_arrangement = std::size_t{1} << index_bits;
  [[nodiscard]] static std::size_t index_in(std::size_t head) noexcept { return head % one_arrangement; }
  [[nodiscard]] static std::size_t with_index(std::size_t head, std::size_t index) noexcept {
    return head - index_in(head) + index;
  }

  /// Owner: both ends back to 0. A thief that goes by an older head leaves what it finds.
  void begin_arrangement() noexcept {
    arrangement_ += one_arrangement;
    // release on head: a thief that reads it (D4), or a D6 after it, reads tail 0 or later.
    tail_.store(0, relaxed);
    head_.store(arrangement_, release);
  }

  /// The next larger one; null if there is no memory, or an index would not fit into head.
  array* make_array() noexcept {
    if (newest_ == nullptr) {
      first_array_.capacity = initial_capacity;
      first_array_.entries = reinterpret_cast<entry*>(first_entries_);
      std::uninitialized_value_construct_n(first_array_.entries, initial_capacity);
      return &first_array_;
    }
    const std::size_t capacity = std::max(second_capacity, newest_->capacity * 2);
    if (capacity >= one_arrangement) {
      return nullptr;
    }
    std::unique_ptr<entry[]> entries(new (std::nothrow) entry[capacity]);
    if (entries == nullptr) {
      return nullptr;
    }
    entry* const first = entries.get();
    return new (std::nothrow) array{capacity, first, std::move(entries), newest_};
  }

  /// Owner, with the array full: moves the live entries to index 0, into a larger array if half or more are live and
  /// there is memory. False if there is no room then either.
  [[gnu::noinline]] bool make_room() noexcept {
    const std::size_t to = tail_.load(relaxed);
    std::size_t live = 0;
    for (std::size_t at = 0; at < to; ++at) {
      live += owner_array_[at].item.load(relaxed) != 0 ? 1U : 0U;
    }
    entry* target = owner_array_;
    std::size_t capacity = owner_capacity_;
    if (live * 2 >= owner_capacity_) {
      array* const larger = make_array();
      if (larger != nullptr) {
        newest_ = larger;
        target = larger->entries;
        capacity = larger->capacity;
      } else if (live == capacity) {
        return false;
      }
    }
    // [D8] Each entry is claimed from its old place before it stands in its new one, so a thief that still reads the
    // old array or an old index finds null or wins the claim. Both ends first, so that no moved entry is below head,
    // and no thief that comes meanwhile finds a younger one before an older one is in its new place.
    begin_arrangement();
    std::size_t kept = 0;
    for (std::size_t at = 0; at < to; ++at) {
      const std::uint64_t tag = owner_array_[at].tag.load(relaxed);
      // release: a thief that finds null here reads the new head in D12.
      const std::uintptr_t item = owner_array_[at].item.exchange(0, release);
      if (item != 0) {
        platform::require_hot([&] { return kept < capacity && target[kept].item.load(relaxed) == 0; },
                              "D8: an entry moves to an empty place");
        target[kept].tag.store(tag, relaxed);
        target[kept].item.store(item, release);
        ++kept;
      }
    }
    if (target != owner_array_) {
      shared_array_.store(newest_, release);
      owner_array_ = target;
      owner_capacity_ = capacity;
    }
    // release: whoever reads this tail in D9 sees the array and the entries. No thief can have moved head meanwhile:
    // with an older one its D6 fails, and with this one it saw tail 0.
    tail_.store(kept, release);
    return true;
  }

  /// Owner: no entry of [0, to) is left. Only it fills entries.
  [[nodiscard]] bool is_empty_below(std::size_t to) const noexcept {
    return std::all_of(owner_array_, owner_array_ + to, [](const entry& e) { return e.item.load(relaxed) == 0; });
  }

  /// Owner or thief: no entry at or above `at` may stay below head.
  void lower_head(std::size_t at) noexcept {
    std::size_t head = head_.load(relaxed);
    // relaxed: it tells nothing of its own. As a read-modify-write it passes on D7's release.
    while (index_in(head) > at && !head_.compare_exchange_weak(head, with_index(head, at), relaxed, relaxed)) {
    }
  }

  /// Owner: of the entries at or above `at` only that one may be left. Its item, or 0 if a thief has it.
  std::uintptr_t claim_newest(std::size_t at) noexcept {
    // [D2] release: before D3's fence; a thief that reads this tail in D9 sees the entries of below.
    tail_.store(at, release);
    // [D3] The claim. relaxed, as in pop(): the fence behind it orders it before what the owner does next.
    const std::uintptr_t item = owner_array_[at].item.exchange(0, relaxed);
    // The store of tail in D2 before the load of head; partner D6 and D9 (head, then tail).
    full_fence_after_exchange();
    if (__builtin_expect(index_in(head_.load(relaxed)) > at, false)) {
      lower_head(at);
    }
    return item;
  }

  /// Thief: of what it is about to take, the first two lines: as a rule an object that it uses next.
  static void expect_item(std::uintptr_t item) noexcept {
    constexpr std::size_t line_bytes = 64;
    expect_write(reinterpret_cast<const void*>(item));
    expect_write(reinterpret_cast<const void*>(item + line_bytes));
  }

  /// Thief: takes up to wanted_of(in sight) entries, the oldest first.
  template <typename Wanted, typename Filter, typename Uncovered>
  [[gnu::always_inline]] std::size_t steal_up_to(Wanted&& wanted_of, deque_item* into, Filter&& accepts,
                                                 Uncovered&& uncovered) noexcept {
    // [D4] acquire: with a new arrangement's head comes its tail, 0 while the owner moves the entries. Else both are
    // hints: what an entry points to comes with its item (D5), and D6 reads head again.
    const std::size_t head = head_.load(acquire);
    const std::size_t from = index_in(head);
    const std::size_t to = tail_.load(relaxed);
    if (from >= to) {
      return 0;
    }
    const std::size_t wanted = wanted_of(to - from);
    const array* a = shared_array_.load(acquire);
    const std::size_t end = a == nullptr ? 0 : (to < a->capacity ? to : a->capacity);
    std::size_t empty_until = from;  // [from, empty_until) was seen empty
    bool contiguous = true;
    std::size_t taken = 0;
    for (std::size_t at = from; at < end; ++at) {
      entry& e = a->entries[at];
      // [D5] acquire: the tag, and what the item points to, were written before D1's release.
      std::uintptr_t item = e.item.load(acquire);
      if (item != 0) {
        const std::uint64_t tag = e.tag.load(relaxed);
        if (!accepts(tag)) {
          if (taken != 0) {
            break;  // not past thousands that this thief must leave
          }
          contiguous = false;
          continue;
        }
        if (is_behind_new_entries(a->entries, head, empty_until)) {
          break;
        }
        expect_item(item);
        // acquire, as D5: the same item may have been taken and pushed again since the load, or has been moved (D12).
        if (e.item.compare_exchange_strong(item, 0, acquire, acquire)) {
          into[taken] = {item, tag};
          ++taken;
        }
      }
      if (contiguous) {
        empty_until = at + 1;
      }
      if (taken == wanted) {
        break;
      }
    }
    if (empty_until > from && raise_head(head, empty_until) == raised::over_entries) {
      uncovered();
    }
    return taken;
  }

  /// [D12] Thief, behind the load that shows an entry, where [head, until) was empty before: whether there may be an
  /// older one, since the owner has moved them, or has pushed below that entry since.
  [[nodiscard]] bool is_behind_new_entries(const entry* entries, std::size_t head, std::size_t until) const noexcept {
    // relaxed, both: whoever saw an entry that has moved, or its old place empty, sees head (D8 releases both); whoever
    // sees an entry sees all that was pushed before it (D1).
    const std::size_t now = head_.load(relaxed);
    return now - index_in(now) != head - index_in(head) || index_in(now) < index_in(head) ||
           std::any_of(entries + index_in(head), entries + until,
                       [](const entry& e) { return e.item.load(relaxed) != 0; });
  }

  enum class raised : bool { over_nothing, over_entries };

  /// Thief: [head, until) was empty when it looked. Says whether it had to go back, or the owner might have.
  raised raise_head(std::size_t head, std::size_t until) noexcept {
    const std::size_t from = index_in(head);
    // [D6] seq_cst: the store of head before the loads of tail and entries; partner D3 (tail, then head).
    std::size_t expected = head;
    if (!head_.compare_exchange_strong(expected, with_index(head, until), seq_cst, relaxed)) {
      return raised::over_nothing;  // somebody else moved it
    }
    // [D9] The owner may have popped below `until` and pushed again meanwhile without seeing this head.
    std::size_t lowest = until;
    const std::size_t tail = tail_.load(seq_cst);
    if (tail < until) {
      lowest = tail;
    }
    const array* a = shared_array_.load(acquire);  // again: D8 may have moved everything
    for (std::size_t at = from; at < lowest && at < a->capacity; ++at) {
      // relaxed: an entry below a tail that was read above is seen.
      if (a->entries[at].item.load(relaxed) != 0) {
        lowest = at;
      }
    }
    if (lowest == until) {
      return raised::over_nothing;
    }
    lower_head(lowest);
    return raised::over_entries;
  }

  alignas(cache_line_bytes) atomic<std::size_t> tail_{0};
  entry* owner_array_ = nullptr;
  std::size_t owner_capacity_ = 0;
  array* newest_ = nullptr;      // with all older ones: a thief may still read one
  std::size_t arrangement_ = 0;  // head at index 0

  alignas(cache_line_bytes) atomic<std::size_t> head_{0};
  atomic<const array*> shared_array_{nullptr};
  array first_array_;                                                         ///< empty until the first push
  alignas(entry) std::byte first_entries_[initial_capacity * sizeof(entry)];  // NOLINT: raw until then
};

}  // namespace homing::sync
