/// A list through its entries, so that to list one needs no memory and to unlist one no search.
///
/// Entry: has `Entry* next`, `Entry* previous` and `bool listed`, by deriving from list_hook<Entry>.
/// Ownership: none. Threads: whoever has the lock that guards the list; `listed` is guarded by it, too.
/// Order:     push_front() puts an entry first, push_back() last.
#pragma once

#include "platform/check.hpp"
#include "sync/atomic.hpp"

namespace homing::sync {

template <typename Entry>
struct list_hook {
  plain<Entry*> next = nullptr;
  plain<Entry*> previous = nullptr;
  plain<bool> listed = false;
};

template <typename Entry>
class linked_list {
 public:
  [[nodiscard]] Entry* first() const noexcept { return first_; }
  [[nodiscard]] Entry* last() const noexcept { return last_; }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  void push_front(Entry& e) noexcept {
    platform::require(!e.listed, "an entry is on one list at most");
    e.listed = true;
    e.next = first_;
    e.previous = nullptr;
    (first_ != nullptr ? first_->previous : last_) = &e;
    first_ = &e;
  }

  void push_back(Entry& e) noexcept {
    platform::require(!e.listed, "an entry is on one list at most");
    e.listed = true;
    e.next = nullptr;
    e.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &e;
    last_ = &e;
  }

  void remove(Entry& e) noexcept {
    platform::require(e.listed, "only what is on a list is taken off it");
    (e.previous != nullptr ? e.previous->next : first_) = e.next;
    (e.next != nullptr ? e.next->previous : last_) = e.previous;
    e.listed = false;
  }

  /// The first one, taken off; null if there is none.
  [[nodiscard]] Entry* pop_front() noexcept {
    Entry* const e = first_;
    if (e != nullptr) {
      remove(*e);
    }
    return e;
  }

  /// Whoever is on it is forgotten, and keeps its marks: for the child of a fork, where it is nobody.
  void forget() noexcept { first_ = last_ = nullptr; }

 private:
  plain<Entry*> first_ = nullptr;
  plain<Entry*> last_ = nullptr;
};

}  // namespace homing::sync
