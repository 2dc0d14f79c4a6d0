/// Items that any thread of an arena may take: first in, first out, as pointers in a ring that grows.
///
/// Not linked through the items: user code may put one task object into a queue while it is still in another place.
///
/// Ownership: the queue owns neither items nor what they point to.
/// Threads:   all calls from any thread.
/// Order:     first in, first out, among the items that the taker's filter accepts.
/// Errors:    push throws std::bad_alloc if the ring must grow and cannot; the queue is then unchanged.
/// Wake-up:   not here: docs/protocols/sleep.md [S2].
/// Source:    TBB-NUMA 4.4.3, figure 7: rules 5', 5'', 5''' (P + 1 shared queues an arena).
#pragma once

#include <memory>

#include "sync/spin_lock.hpp"

namespace homing::sync {

template <typename T>
class shared_queue {
 public:
  void push(T& item) {
    lock_.lock();
    while (count_.load(relaxed) == capacity_) {
      // Not under the lock: the allocator may block.
      const std::size_t wanted = capacity_ == 0 ? initial_capacity : capacity_ * 2;
      lock_.unlock();
      auto larger = std::make_unique<T*[]>(wanted);
      lock_.lock();
      if (wanted > capacity_) {
        move_into(larger, wanted);
      }
    }
    at(count_.load(relaxed)) = &item;
    // relaxed: a hint for empty(); the lock publishes the item.
    count_.store(count_.load(relaxed) + 1, relaxed);
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
    const std::size_t count = count_.load(relaxed);
    for (std::size_t i = 0; i < count; ++i) {
      T* item = at(i);
      if (accepts(*item)) {
        for (std::size_t k = i; k > 0; --k) {
          at(k) = at(k - 1);
        }
        first_ = (first_ + 1) & (capacity_ - 1);
        count_.store(count - 1, relaxed);
        return item;
      }
    }
    return nullptr;
  }

  /// True if some item that `accepts` is true for is there; looks at all of them under the lock.
  template <typename Filter>
  [[nodiscard]] bool has_if(Filter&& accepts) noexcept {
    if (empty()) {
      return false;
    }
    const scoped_spin_lock hold(lock_);
    for (std::size_t i = 0; i < count_.load(relaxed); ++i) {
      if (accepts(*at(i))) {
        return true;
      }
    }
    return false;
  }

  /// Over a fork.
  void lock_for_fork() noexcept { lock_.lock(); }
  void unlock_after_fork() noexcept { lock_.unlock(); }

  /// A hint, exact once the pushing thread and this one have met a fence.
  [[nodiscard]] bool empty() const noexcept { return count_.load(relaxed) == 0; }

 private:
  static constexpr std::size_t initial_capacity = 16;  // a power of two, as all that follow

  T*& at(std::size_t i) noexcept { return ring_[(first_ + i) & (capacity_ - 1)]; }

  void move_into(std::unique_ptr<T*[]>& larger, std::size_t wanted) noexcept {
    for (std::size_t i = 0; i < count_.load(relaxed); ++i) {
      larger[i] = at(i);
    }
    ring_.swap(larger);  // the caller frees the old ring
    capacity_ = wanted;
    first_ = 0;
  }

  alignas(cache_line_bytes) spin_lock lock_;
  atomic<std::size_t> count_{0};
  std::size_t first_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<T*[]> ring_;
};

}  // namespace homing::sync
