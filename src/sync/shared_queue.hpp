/// Items that any thread of an arena may take: first in, first out, linked through the items themselves.
///
/// Ownership: from push until take returns it, the queue owns the item's link, never the item.
/// Threads:   all calls from any thread.
/// Order:     first in, first out.
/// Errors:    none; never allocates.
/// Wake-up:   not here: docs/protocols/sleep.md [S2].
/// Source:    TBB-NUMA 4.4.3, figure 7: rules 5', 5'', 5''' (P + 1 shared queues an arena).
#pragma once

#include "sync/spin_lock.hpp"

namespace homing::sync {

/// `Link` reads and writes the item's pointer to the next one: `static T* next(const T&)`, `static void set_next(T&, T*)`.
template <typename T, typename Link>
class shared_queue {
 public:
  void push(T& item) noexcept {
    Link::set_next(item, nullptr);
    const scoped_spin_lock hold(lock_);
    if (last_ == nullptr) {
      // relaxed: a hint for empty(); the lock publishes the item.
      first_.store(&item, relaxed);
    } else {
      Link::set_next(*last_, &item);
    }
    last_ = &item;
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
    T* before = nullptr;
    for (T* item = first_.load(relaxed); item != nullptr; before = item, item = Link::next(*item)) {
      if (!accepts(*item)) {
        continue;
      }
      T* after = Link::next(*item);
      if (before == nullptr) {
        first_.store(after, relaxed);
      } else {
        Link::set_next(*before, after);
      }
      if (last_ == item) {
        last_ = before;
      }
      return item;
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
    for (const T* item = first_.load(relaxed); item != nullptr; item = Link::next(*item)) {
      if (accepts(*item)) {
        return true;
      }
    }
    return false;
  }

  /// A hint, exact once the pushing thread and this one have met a fence.
  [[nodiscard]] bool empty() const noexcept { return first_.load(relaxed) == nullptr; }

 private:
  alignas(cache_line_bytes) spin_lock lock_;
  atomic<T*> first_{nullptr};
  T* last_ = nullptr;
};

}  // namespace homing::sync
