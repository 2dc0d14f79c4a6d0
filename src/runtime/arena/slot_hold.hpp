/// What others may conclude from a slot: whether a thread holds it, and whether it may push behind a light fence.
///
/// Ownership: the arena's; the search flag lies on a cache line of its own, since it often changes.
/// Threads:   slot_hold: any takes it, its holder frees it; search_flag: its holder writes; questions: any.
/// Protocols: docs/protocols/arena.md [A1], [A23].
#pragma once

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

/// [A23] Behind a full fence of the caller's: false if nobody pushes here behind a light fence before having passed a
/// full one. acquire, both: what was pushed before the slot was freed, or before its thread began to look.
[[nodiscard]] inline bool may_push_lightly(const slot_hold& hold, const search_flag& searching) noexcept {
  return hold.held_.load(sync::acquire) && !searching.is_set_.load(sync::acquire);
}

}  // namespace homing::scheduler
