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

/// Says, to those without the queue's locks, whether something is in the queue.
class queue_mark {
 public:
  // relaxed, both: hints; the pushers' lock is held. Items are published by what a taker reads then.
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
/// for the looks of those that take. Who needs both locks takes the takers' first.
template <typename T, typename Link, typename Mark = queue_mark>
class shared_queue {
 public:
  /// The item may have been taken, and run, before this returns: whoever pushes keeps the queue until then.
  void push(T& item) {
    pushers_.lock.lock();
    const bool at_once = pushers_.first_linked == nullptr && has_room();
    if (at_once) {
      put(item);
      set_mark();
    }
    pushers_.lock.unlock();
    if (!at_once && !push_with_care(item)) {
      throw std::bad_alloc();
    }
  }

  [[nodiscard]] T* take() noexcept {
    return take_if([](const T&) { return true; });
  }

  /// Takes the oldest item that `accepts` is true for; may look at all of them under the takers' lock.
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
    const scoped_spin_lock hold_takers(takers_.lock);
    const scoped_spin_lock hold_pushers(pushers_.lock);
    for (std::size_t i = takers_.first.load(relaxed); i != pushers_.end.load(relaxed); ++i) {
      const T* const item = takers_.ring[i];
      if (accepts(*item)) {
        return true;
      }
    }
    for (T* item = pushers_.first_linked; item != nullptr; item = Link::next(*item)) {
      if (accepts(*item)) {
        return true;
      }
    }
    return false;
  }

  /// Over a fork.
  void lock_for_fork() noexcept {
    takers_.lock.lock();
    pushers_.lock.lock();
  }
  void unlock_after_fork() noexcept {
    pushers_.lock.unlock();
    takers_.lock.unlock();
  }

  /// A hint, exact once the pushing thread and this one have met a fence.
  [[nodiscard]] bool empty() const noexcept { return !mark_.is_set(); }

  [[nodiscard]] Mark& mark() noexcept { return mark_; }

 private:
  static constexpr std::size_t initial_capacity = size_or_modelled(16, 2);  // a power of two, as all that follow
  using memory = std::unique_ptr<plain<T*>[]>;

  /// The cells, by a count that only grows. Each side has one of these: they change under both locks.
  struct cells {
    plain<plain<T*>*> first = nullptr;
    plain<std::size_t> capacity = 0;
    plain<T*>& operator[](std::size_t i) const noexcept { return first[i & (capacity - 1)]; }
  };

  void set_mark() noexcept {
    if (!mark_.is_set()) {
      mark_.set();
    }
  }

  void put(T& item) noexcept {
    const std::size_t end = pushers_.end.load(relaxed);
    pushers_.ring[end] = &item;
    pushers_.end.store(end + 1, release);  // partner: see_end(), by which a taker sees the item
  }

  [[nodiscard]] bool has_room() noexcept {
    if (pushers_.end.load(relaxed) == pushers_.free_until) {
      // acquire: whoever took what was in a cell has read it; partner: take_at().
      pushers_.free_until = takers_.first.load(acquire) + pushers_.ring.capacity;
    }
    return pushers_.end.load(relaxed) != pushers_.free_until;
  }

  /// Into a larger ring, or linked. False if there is no memory, and the item is linked already.
  [[gnu::noinline]] bool push_with_care(T& item) noexcept {
    memory spare;  // not under a lock, nor the end of the old ring: the allocator may block
    std::size_t wanted = 0;
    for (;;) {
      {
        const scoped_spin_lock hold_takers(takers_.lock);
        const scoped_spin_lock hold_pushers(pushers_.lock);
        const bool no_memory = wanted != 0 && spare == nullptr;
        if (spare != nullptr && wanted > pushers_.ring.capacity) {
          move_into(spare, wanted);
        }
        while (pushers_.first_linked != nullptr && has_room()) {
          put(*take_linked([](const T&) { return true; }));
        }
        const bool has_place = pushers_.first_linked == nullptr && has_room();
        if (!has_place && no_memory && Link::is_linked(item)) {
          return false;
        }
        if (has_place || no_memory) {
          has_place ? put(item) : link_last(item);
          set_mark();
          return true;
        }
        wanted = pushers_.ring.capacity == 0 ? initial_capacity : pushers_.ring.capacity * 2;
      }
      spare.reset(new (std::nothrow) plain<T*>[wanted]);
    }
  }

  void move_into(memory& larger, std::size_t capacity) noexcept {
    const cells to{larger.get(), capacity};
    for (std::size_t i = takers_.first.load(relaxed); i != pushers_.end.load(relaxed); ++i) {
      to[i] = takers_.ring[i];
    }
    pushers_.memory_of_ring.swap(larger);
    pushers_.ring = to;
    takers_.ring = to;
  }

  template <typename Filter>
  T* take_under_lock(Filter&& accepts) noexcept {
    for (std::size_t i = takers_.first.load(relaxed);;) {
      for (; i != takers_.end_seen; ++i) {
        T* const item = takers_.ring[i];
        if (accepts(*item)) {
          take_at(i);
          return item;
        }
      }
      if (i != see_end()) {
        continue;
      }
      // Items are linked and unlinked under both locks. While some are, none comes into the ring.
      if (pushers_.first_linked == nullptr) {
        return nullptr;
      }
      const scoped_spin_lock hold(pushers_.lock);
      T* const item = take_linked(accepts);
      clear_mark_if_empty();
      return item;
    }
  }

  void take_at(std::size_t i) noexcept {
    const std::size_t first = takers_.first.load(relaxed);
    for (std::size_t k = i; k != first; --k) {
      takers_.ring[k] = takers_.ring[k - 1];
    }
    takers_.first.store(first + 1, release);  // partner: has_room(), by which a pusher sees the cell read
    if (first + 1 == takers_.end_seen && first + 1 == see_end()) {
      const scoped_spin_lock hold(pushers_.lock);
      clear_mark_if_empty();
    }
  }

  std::size_t see_end() noexcept {
    takers_.end_seen = pushers_.end.load(acquire);  // partner: put()
    return takers_.end_seen;
  }

  void clear_mark_if_empty() noexcept {
    if (takers_.first.load(relaxed) == pushers_.end.load(relaxed) && pushers_.first_linked == nullptr) {
      mark_.clear();
    }
  }

  void link_last(T& item) noexcept {
    Link::set_linked(item, true);
    Link::set_next(item, nullptr);
    if (pushers_.first_linked != nullptr) {
      Link::set_next(*pushers_.last_linked, &item);
    } else {
      pushers_.first_linked = &item;
    }
    pushers_.last_linked = &item;
  }

  template <typename Filter>
  T* take_linked(Filter&& accepts) noexcept {
    T* before = nullptr;
    T* item = pushers_.first_linked;
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
      pushers_.first_linked = after;
    }
    if (after == nullptr) {
      pushers_.last_linked = before;
    }
    Link::set_linked(*item, false);
    return item;
  }

  Mark mark_;  ///< written under the pushers' lock
  // Of each side: under its lock, but for what the other side may read. Where that matters the order stands there;
  // relaxed else.
  struct alignas(cache_line_bytes) {
    spin_lock lock;
    atomic<std::size_t> end{0};         ///< of what is in the ring
    plain<std::size_t> free_until = 0;  ///< cells that the pushers know to be free end there
    cells ring;
    memory memory_of_ring;
    plain<T*> first_linked = nullptr;  ///< items behind those in the ring; they change under both locks
    plain<T*> last_linked = nullptr;
  } pushers_;
  struct alignas(cache_line_bytes) {
    spin_lock lock;
    atomic<std::size_t> first{0};
    plain<std::size_t> end_seen = 0;
    cells ring;
  } takers_;
};

}  // namespace homing::sync
