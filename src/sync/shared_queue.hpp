/// Items that any thread of an arena may take: first in, first out, as pointers in a ring that grows.
///
/// Not linked through the items, as long as there is memory: user code may put one task object into a queue while it is
/// still in another place. Where the ring must grow and cannot, what comes is linked, behind what is in the ring, until
/// a later push has memory for all of it: a task that was sent must not be lost.
///
/// Ownership: the queue owns neither items nor what they point to; of a linked item, the words that Link names.
/// Threads:   all calls from any thread.
/// Order:     first in, first out, among the items that the taker's filter accepts.
/// Errors:    push throws std::bad_alloc if there is no memory and the item is linked already, in this queue or
///            another: the queue is then unchanged.
/// Wake-up:   not here: docs/protocols/sleep.md [S2].
/// Source:    TBB-NUMA 4.4.3, figure 7: rules 5', 5'', 5'''.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "sync/spin_lock.hpp"

namespace homing::sync {

/// Says, to those without the queue's lock, whether something is in the queue.
class queue_mark {
 public:
  // relaxed, both: hints; the lock is held, and publishes the items.
  void set() noexcept { is_set_.store(true, relaxed); }
  void clear() noexcept { is_set_.store(false, relaxed); }
  [[nodiscard]] bool is_set() const noexcept { return is_set_.load(relaxed); }

 private:
  // On a line of its own: all who look for work read it, in every round.
  alignas(cache_line_bytes) atomic<bool> is_set_{false};
};

/// Link: next(item) and set_next(item, next), and is_linked(item) and set_linked(item, whether), of which the last is
/// false for an item that is in no queue.
///
/// Pushers have a lock and a line, takers another: where one thread sends short tasks to many, its line is its own but
/// for the looks of those that take. Who needs both locks takes the pushers' first; who has the takers' only tries.
template <typename T, typename Link, typename Mark = queue_mark>
class shared_queue {
 public:
  void push(T& item) {
    pushers_.lock.lock();
    if (pushers_.linked.load(relaxed) == 0 && pushers_.end.load(relaxed) != pushers_.free_until) {
      put(item);
    } else if (!push_with_care(item)) {
      pushers_.lock.unlock();
      throw std::bad_alloc();
    }
    if (!mark_.is_set()) {
      mark_.set();
    }
    pushers_.lock.unlock();
  }

  [[nodiscard]] T* take() noexcept {
    return take_if([](const T&) { return true; });
  }

  /// Takes the oldest item that `accepts` is true for; may look at all of them under the lock.
  template <typename Filter>
  [[nodiscard]] T* take_if(Filter&& accepts) noexcept {
    if (empty()) {
      return nullptr;
    }
    const scoped_spin_lock hold(takers_.lock);
    return take_under_lock(accepts);
  }

  /// The same, but takes nothing while somebody else takes. For who looks again before it sleeps: where one item comes
  /// at a time, all others who had waited would find nothing.
  template <typename Filter>
  [[nodiscard]] T* try_take_if(Filter&& accepts) noexcept {
    if (empty() || !takers_.lock.try_lock()) {
      return nullptr;
    }
    T* const item = take_under_lock(accepts);
    takers_.lock.unlock();
    return item;
  }

  /// True if some item that `accepts` is true for is there; looks at all of them under the locks.
  template <typename Filter>
  [[nodiscard]] bool has_if(Filter&& accepts) noexcept {
    if (empty()) {
      return false;
    }
    const scoped_spin_lock hold_pushers(pushers_.lock);
    const scoped_spin_lock hold_takers(takers_.lock);
    for (std::size_t i = takers_.first.load(relaxed); i != pushers_.end.load(relaxed); ++i) {
      const T* const item = takers_.ring[i];
      if (accepts(*item)) {
        return true;
      }
    }
    for (T* item = first_linked_; item != nullptr; item = Link::next(*item)) {
      if (accepts(*item)) {
        return true;
      }
    }
    return false;
  }

  /// Over a fork.
  void lock_for_fork() noexcept {
    pushers_.lock.lock();
    takers_.lock.lock();
  }
  void unlock_after_fork() noexcept {
    takers_.lock.unlock();
    pushers_.lock.unlock();
  }

  /// A hint, exact once the pushing thread and this one have met a fence.
  [[nodiscard]] bool empty() const noexcept { return !mark_.is_set(); }

  [[nodiscard]] Mark& mark() noexcept { return mark_; }

 private:
  static constexpr std::size_t initial_capacity = size_or_modelled(16, 2);  // a power of two, as all that follow

  /// The cells, by a count that only grows. Each side has one of these: they change under both locks.
  struct cells {
    plain<T*>* first = nullptr;
    std::size_t capacity = 0;
    plain<T*>& operator[](std::size_t i) const noexcept { return first[i & (capacity - 1)]; }
  };

  /// Under the pushers' lock, where there is room.
  void put(T& item) noexcept {
    const std::size_t end = pushers_.end.load(relaxed);
    pushers_.ring[end] = &item;
    pushers_.end.store(end + 1, release);  // the item in its cell, to who finds it before the end
  }

  /// Under the pushers' lock: as far as the takers have come.
  [[nodiscard]] bool has_room() noexcept {
    // acquire: who took what was in a cell has read it.
    pushers_.free_until = takers_.first.load(acquire) + pushers_.ring.capacity;
    return pushers_.end.load(relaxed) != pushers_.free_until;
  }

  /// Under the pushers' lock, which it may give up meanwhile. False if there is no memory, and the item is linked.
  [[gnu::noinline]] bool push_with_care(T& item) noexcept {
    for (;;) {
      if (pushers_.linked.load(relaxed) != 0) {
        move_linked();
      }
      if (pushers_.linked.load(relaxed) == 0 && has_room()) {
        put(item);
        return true;
      }
      // Not under the lock: the allocator may block.
      const std::size_t wanted = pushers_.ring.capacity == 0 ? initial_capacity : pushers_.ring.capacity * 2;
      pushers_.lock.unlock();
      std::unique_ptr<plain<T*>[]> larger(new (std::nothrow) plain<T*>[wanted]);
      pushers_.lock.lock();
      if (larger == nullptr) {
        break;
      }
      if (wanted > pushers_.ring.capacity) {
        move_into(larger, wanted);
      }
    }
    if (Link::is_linked(item)) {
      return false;
    }
    link_last(item);
    return true;
  }

  /// Under the pushers' lock: what is linked moves into the ring, as far as there is room.
  void move_linked() noexcept {
    const scoped_spin_lock hold(takers_.lock);
    while (pushers_.linked.load(relaxed) != 0 && has_room()) {
      put(*take_linked([](const T&) { return true; }));
    }
  }

  /// Under the pushers' lock.
  void move_into(std::unique_ptr<plain<T*>[]>& larger, std::size_t wanted) noexcept {
    const scoped_spin_lock hold(takers_.lock);
    const cells to{larger.get(), wanted};
    for (std::size_t i = takers_.first.load(relaxed); i != pushers_.end.load(relaxed); ++i) {
      to[i] = takers_.ring[i];
    }
    memory_.swap(larger);  // the caller frees the old ring
    pushers_.ring = to;
    takers_.ring = to;
  }

  /// Under the takers' lock.
  template <typename Filter>
  T* take_under_lock(Filter&& accepts) noexcept {
    const std::size_t first = takers_.first.load(relaxed);
    for (std::size_t i = first;; ++i) {
      if (i == takers_.end_seen && i == see_end()) {
        return take_behind_ring(first, accepts);
      }
      T* const item = takers_.ring[i];
      if (accepts(*item)) {
        for (std::size_t k = i; k != first; --k) {
          takers_.ring[k] = takers_.ring[k - 1];
        }
        takers_.first.store(first + 1, release);  // that the cell was read, to who fills it again
        if (first + 1 == takers_.end_seen && first + 1 == see_end()) {
          static_cast<void>(take_behind_ring(first + 1, [](const T&) { return false; }));
        }
        return item;
      }
    }
  }

  std::size_t see_end() noexcept {
    takers_.end_seen = pushers_.end.load(acquire);
    return takers_.end_seen;
  }

  /// Under the takers' lock, when the ring has nothing that the taker accepts: what is linked, if anything. If nothing
  /// is left, the mark goes. Not while somebody pushes, who may have seen it set; then it is for the next look.
  template <typename Filter>
  T* take_behind_ring(std::size_t first, Filter&& accepts) noexcept {
    if ((first != takers_.end_seen && pushers_.linked.load(relaxed) == 0) || !pushers_.lock.try_lock()) {
      return nullptr;
    }
    T* const item = pushers_.linked.load(relaxed) != 0 ? take_linked(accepts) : nullptr;
    if (first == pushers_.end.load(relaxed) && pushers_.linked.load(relaxed) == 0) {
      mark_.clear();
    }
    pushers_.lock.unlock();
    return item;
  }

  void link_last(T& item) noexcept {
    Link::set_linked(item, true);
    Link::set_next(item, nullptr);
    if (last_linked_ != nullptr) {
      Link::set_next(*last_linked_, &item);
    } else {
      first_linked_ = &item;
    }
    last_linked_ = &item;
    pushers_.linked.store(pushers_.linked.load(relaxed) + 1, relaxed);
  }

  template <typename Filter>
  T* take_linked(Filter&& accepts) noexcept {
    T* before = nullptr;
    T* item = first_linked_;
    while (item != nullptr && !accepts(*item)) {
      before = std::exchange(item, Link::next(*item));
    }
    if (item == nullptr) {
      return nullptr;
    }
    T* const after = Link::next(*item);
    if (before != nullptr) {
      Link::set_next(*before, after);
    } else {
      first_linked_ = after;
    }
    if (last_linked_ == item) {
      last_linked_ = before;
    }
    Link::set_linked(*item, false);
    pushers_.linked.store(pushers_.linked.load(relaxed) - 1, relaxed);
    return item;
  }

  Mark mark_;  ///< written under the pushers' lock: set by who pushes, cleared by who finds nothing left
  std::unique_ptr<plain<T*>[]> memory_;  ///< of the ring
  T* first_linked_ = nullptr;            ///< under the pushers' lock, the last one, too
  T* last_linked_ = nullptr;
  struct alignas(cache_line_bytes) {
    spin_lock lock;
    atomic<std::size_t> end{0};         ///< of what is in the ring
    plain<std::size_t> free_until = 0;  ///< of the cells, those that pushers know to be free
    cells ring;
    atomic<std::size_t> linked{0};  ///< items that are not in the ring; changes under both locks, or grows
  } pushers_;
  struct alignas(cache_line_bytes) {
    spin_lock lock;
    atomic<std::size_t> first{0};
    plain<std::size_t> end_seen = 0;
    cells ring;
  } takers_;
};

}  // namespace homing::sync
