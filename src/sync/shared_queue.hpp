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
template <typename T, typename Link, typename Mark = queue_mark>
class shared_queue {
 public:
  void push(T& item) {
    lock_.lock();
    if (size_ - linked_ == capacity_ || linked_ > 0) {
      make_room();
    }
    if (linked_ == 0 && size_ < capacity_) {
      at(size_) = &item;
    } else if (Link::is_linked(item)) {
      lock_.unlock();
      throw std::bad_alloc();
    } else {
      link_last(item);
    }
    if (size_++ == 0) {
      mark_.set();
    }
    lock_.unlock();
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
    const scoped_spin_lock hold(lock_);
    return take_under_lock(accepts);
  }

  /// The same, but takes nothing while somebody else is at the queue. For who looks again before it sleeps: where one
  /// item comes at a time, all others who had waited would find nothing, and keep the queue from who pushes the next.
  template <typename Filter>
  [[nodiscard]] T* try_take_if(Filter&& accepts) noexcept {
    if (empty() || !lock_.try_lock()) {
      return nullptr;
    }
    T* const item = take_under_lock(accepts);
    lock_.unlock();
    return item;
  }

  /// True if some item that `accepts` is true for is there; looks at all of them under the lock.
  template <typename Filter>
  [[nodiscard]] bool has_if(Filter&& accepts) noexcept {
    if (empty()) {
      return false;
    }
    const scoped_spin_lock hold(lock_);
    for (std::size_t i = 0; i < size_ - linked_; ++i) {
      if (accepts(*at(i))) {
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
  void lock_for_fork() noexcept { lock_.lock(); }
  void unlock_after_fork() noexcept { lock_.unlock(); }

  /// A hint, exact once the pushing thread and this one have met a fence.
  [[nodiscard]] bool empty() const noexcept { return !mark_.is_set(); }

  [[nodiscard]] Mark& mark() noexcept { return mark_; }

 private:
  static constexpr std::size_t initial_capacity = size_or_modelled(16, 2);  // a power of two, as all that follow

  /// Under the lock: one less.
  void count_taken() noexcept {
    if (--size_ == 0) {
      mark_.clear();
    }
  }

  template <typename Filter>
  T* take_under_lock(Filter&& accepts) noexcept {
    for (std::size_t i = 0; i < size_ - linked_; ++i) {
      T* item = at(i);
      if (accepts(*item)) {
        for (std::size_t k = i; k > 0; --k) {
          at(k) = at(k - 1);
        }
        first_ = (first_ + 1) & (capacity_ - 1);
        count_taken();
        return item;
      }
    }
    T* item = linked_ > 0 ? take_linked(accepts) : nullptr;
    if (item != nullptr) {
      count_taken();
    }
    return item;
  }

  T*& at(std::size_t i) noexcept { return ring_[(first_ + i) & (capacity_ - 1)]; }

  /// Under the lock, which it gives up meanwhile: what is linked moves into the ring, which grows if it must and can.
  [[gnu::noinline]] void make_room() noexcept {
    for (;;) {
      while (linked_ > 0 && size_ - linked_ < capacity_) {
        T*& end = at(size_ - linked_);
        end = take_linked([](const T&) { return true; });
      }
      if (linked_ == 0 && size_ < capacity_) {
        return;
      }
      // Not under the lock: the allocator may block.
      const std::size_t wanted = capacity_ == 0 ? initial_capacity : capacity_ * 2;
      lock_.unlock();
      std::unique_ptr<T*[]> larger(new (std::nothrow) T*[wanted]);
      lock_.lock();
      if (larger == nullptr) {
        return;
      }
      if (wanted > capacity_) {
        move_into(larger, wanted);
      }
    }
  }

  void move_into(std::unique_ptr<T*[]>& larger, std::size_t wanted) noexcept {
    for (std::size_t i = 0; i < size_ - linked_; ++i) {
      larger[i] = at(i);
    }
    ring_.swap(larger);  // the caller frees the old ring
    capacity_ = wanted;
    first_ = 0;
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
    ++linked_;
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
    --linked_;
    return item;
  }

  Mark mark_;  ///< written under the lock, where the first item comes or the last one goes
  alignas(cache_line_bytes) spin_lock lock_;
  plain<std::size_t> size_ = 0;  ///< of all
  plain<std::size_t> first_ = 0;
  plain<std::size_t> capacity_ = 0;
  std::unique_ptr<T*[]> ring_;
  plain<std::size_t> linked_ = 0;  ///< of `size_`, those that are linked
  T* first_linked_ = nullptr;
  T* last_linked_ = nullptr;
};

}  // namespace homing::sync
