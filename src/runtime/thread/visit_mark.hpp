/// Which arena a thread visits by execute(): it has no reference of its own, since the task_arena's is enough, unless
/// that ends during the visit. Then the visitor is given it, to drop when it has left.
///
/// Ownership: in a thread's record, which is never freed: whoever looks at the mark, and the visitor at its end, may
///            come too late for the arena.
/// Threads:   begin(), end(): the record's own; give(): one at a time; is_of(): any.
/// Protocols: docs/protocols/arena.md [A4].
#pragma once

#include <mutex>

#include "sync/asymmetric_fence.hpp"
#include "sync/atomic.hpp"

namespace homing::scheduler {

class arena;

class visit_mark {
 public:
  /// Before anything that may end the task_arena. False if a visit is marked already: this one takes a reference.
  [[nodiscard]] bool begin(arena& a) noexcept {
    if (__builtin_expect(visited_.load(sync::relaxed) != nullptr, false)) {
      return false;
    }
    visited_.store(&a, sync::release);  // as at the end of the last visit, for who sees this in its place
    return true;
  }
  /// After the last access to the arena. The arena of which the thread has been given a reference, or null.
  [[nodiscard]] arena* end() noexcept {
    visited_.store(nullptr, sync::release);  // all that the visitor did there, to the acquire in is_of()
    sync::light_fence();                     // partner: the gift, then the second look at the mark
    if (__builtin_expect(gift_.load(sync::relaxed) == nullptr, true)) {
      return nullptr;
    }
    return gift_.exchange(nullptr, sync::acquire);  // acquire: what the giver did in the arena
  }

  /// A visit that has begun before the caller's own time there, in the program's order, is seen. acquire: if there is
  /// none any more, all that the visitor did.
  [[nodiscard]] bool is_of(const arena& a) const noexcept { return visited_.load(sync::acquire) == &a; }

  /// A reference of the caller's becomes the visitor's; false if the caller has it still. Callers hold a common lock.
  [[nodiscard]] bool give(arena& a) noexcept {
    arena* seen = nullptr;
    // release: what the caller did in the arena.
    if (!gift_.compare_exchange_strong(seen, &a, sync::release, sync::relaxed)) {
      return false;  // it has one: under the lock, of the same visit
    }
    sync::heavy_fence();  // partner: the end of the mark, then the look for a gift
    if (is_of(a)) {
      return true;
    }
    // It left meanwhile: either it has found the gift, or nobody will. It finds one late, in another visit, perhaps.
    seen = &a;
    return !gift_.compare_exchange_strong(seen, nullptr, sync::relaxed, sync::relaxed);
  }

 private:
  sync::atomic<arena*> visited_{nullptr};
  sync::atomic<arena*> gift_{nullptr};
};

/// Whose marks may be of an arena: nobody's, one thread's or several threads'. In the arena, so that its end looks at
/// no other thread's record where one thread alone has visited it.
class known_visitors {
 public:
  /// The visitor, before anything that may end the task_arena.
  void note(const void* record) noexcept {
    // relaxed: whoever must see the visit's begin sees this, too.
    const void* seen = who_.load(sync::relaxed);
    if (__builtin_expect(seen == record || seen == &several_, true)) {
      return;
    }
    if (seen != nullptr || !who_.compare_exchange_strong(seen, record, sync::relaxed, sync::relaxed)) {
      who_.store(&several_, sync::relaxed);
    }
  }
  [[nodiscard]] const void* one_or_several() const noexcept { return who_.load(sync::relaxed); }
  [[nodiscard]] static bool are_several(const void* who) noexcept { return who == &several_; }

 private:
  static inline const char several_ = 0;
  sync::atomic<const void*> who_{nullptr};
};

/// A reference of the caller's becomes that of somebody who visits the arena; false if nobody does, who has not one
/// already. Then the caller has it still, and may end the arena: who has visited it is done with it.
template <typename Record, typename Lock>
[[nodiscard]] bool give_to_visitor(arena& a, const known_visitors& known, Record* newest, Lock& one_giver) noexcept {
  const void* const who = known.one_or_several();
  const bool are_several = known_visitors::are_several(who);
  const auto next_visitor = [&](Record* r) {
    while (r != nullptr && !r->visit.is_of(a)) {
      r = are_several ? r->next_record : nullptr;
    }
    return r;
  };
  Record* r = next_visitor(are_several ? newest : const_cast<Record*>(static_cast<const Record*>(who)));
  if (r == nullptr) {
    return false;
  }
  const std::lock_guard hold(one_giver);
  for (; r != nullptr; r = are_several ? next_visitor(r->next_record) : nullptr) {
    if (r->visit.give(a)) {
      return true;
    }
  }
  return false;
}

}  // namespace homing::scheduler
