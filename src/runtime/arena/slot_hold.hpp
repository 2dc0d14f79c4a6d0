/// What others may conclude from a slot: whether a thread holds it, whether that one came by execute(), and whether it
/// may push behind a light fence.
///
/// Ownership: the arena's; the search flag lies on a cache line of its own, since it often changes.
/// Threads:   slot_hold: any takes it, its holder frees it; search_flag and visit_mark: its holder writes, but for
///            give(), which anybody calls who has a reference to the arena; questions: any.
/// Protocols: docs/protocols/arena.md [A1], [A4], [A6], [A23].
#pragma once

#include "sync/asymmetric_fence.hpp"
#include "sync/atomic.hpp"

namespace homing::scheduler {

class search_flag;

class slot_hold {
 public:
  /// False if another thread holds it.
  [[nodiscard]] bool try_take() noexcept {
    // acquire: the last holder's writes to the slot's deque, released in free(). [A1]
    if (held_.load(sync::relaxed) || held_.exchange(true, sync::acquire)) {
      return false;
    }
    sync::full_fence_after_exchange();  // [A23] before what it pushes, and its looks after that
    return true;
  }
  /// release: the deque and what else belongs to the holder, to the next one's acquire in try_take(). [A1]
  void free() noexcept { held_.store(false, sync::release); }

  /// A hint, unless the caller has passed a fence whose partner stands behind free().
  [[nodiscard]] bool is_held() const noexcept { return held_.load(sync::relaxed); }

 private:
  friend bool may_push_lightly(const slot_hold& hold, const search_flag& searching) noexcept;
  sync::atomic<bool> held_{false};
};

class search_flag {
 public:
  /// release: whoever sees it sees what its thread has pushed. [A23]
  void set() noexcept { is_set_.store(true, sync::release); }
  /// A full fence must follow before the thread pushes again. [A23]
  void clear() noexcept { is_set_.store(false, sync::relaxed); }
  /// A hint.
  [[nodiscard]] bool is_set() const noexcept { return is_set_.load(sync::relaxed); }

 private:
  friend bool may_push_lightly(const slot_hold& hold, const search_flag& searching) noexcept;
  sync::atomic<bool> is_set_{false};
};

/// [A4] A visitor has no reference of its own: the task_arena's is enough, unless that ends during the visit. Then the
/// visitor is given it, to drop when it has left.
class visit_mark {
 public:
  /// The caller has just taken the slot.
  void begin() noexcept { visited_.store(true, sync::relaxed); }
  /// How many references the visitor was given: it has them now. The slot is not free yet.
  [[nodiscard]] unsigned end() noexcept {
    visited_.store(false, sync::relaxed);
    sync::light_fence();  // partner: the gift, then the second look at the mark
    if (__builtin_expect(owed_.load(sync::relaxed) == 0, true)) {
      return 0;
    }
    return owed_.exchange(0, sync::acquire);  // acquire: what the giver did in the arena
  }
  /// A hint: a visitor that has begun before the caller's own time there, in the program's order, is seen.
  [[nodiscard]] bool is_visited() const noexcept { return visited_.load(sync::relaxed); }
  /// A reference of the caller's becomes the visitor's; false if there is none, and the caller has it still.
  [[nodiscard]] bool give() noexcept {
    owed_.fetch_add(1, sync::release);
    sync::heavy_fence();  // partner: the end of the mark, then the look for gifts
    if (visited_.load(sync::relaxed)) {
      return true;
    }
    // It left meanwhile: either it has found the gift, or nobody will.
    for (unsigned owed = owed_.load(sync::relaxed); owed != 0;) {
      if (owed_.compare_exchange_weak(owed, owed - 1, sync::relaxed, sync::relaxed)) {
        return false;
      }
    }
    return true;
  }

 private:
  sync::atomic<bool> visited_{false};
  sync::atomic<unsigned> owed_{0};
};

/// [A23] Behind a full fence of the caller's: false if nobody pushes here behind a light fence before having passed a
/// full one. acquire, both: what was pushed before the slot was freed, or before its thread began to look.
[[nodiscard]] inline bool may_push_lightly(const slot_hold& hold, const search_flag& searching) noexcept {
  return hold.held_.load(sync::acquire) && !searching.is_set_.load(sync::acquire);
}

}  // namespace homing::scheduler
