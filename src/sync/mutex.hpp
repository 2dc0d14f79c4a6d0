/// A lock whose failed try says something: that somebody held it, in the one order of all seq_cst operations.
///
/// std::mutex::try_lock() may fail for no reason, and orders nothing when it fails; a thread that leaves its wish to
/// whoever holds the lock needs more. Threads sleep on a futex word.
///
/// Threads:  any. Not recursive, not fair. For std::lock_guard and std::unique_lock.
/// Order:    a try and an unlock are seq_cst; a lock sees what was written before the last unlock.
/// Protocol: docs/protocols/arena.md [A6].
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"
#include "sync/futex.hpp"

namespace homing::sync {

class mutex {
 public:
  void lock() noexcept {
    // To sleep and be woken takes longer than most sections, and each sleeper makes the next unlock a call of the
    // kernel's. So long that all threads of a machine can go through a section of a microsecond one after the other.
    for (std::size_t spins = 0; spins != spins_before_sleep; ++spins) {
      if (word_.load(relaxed) == free && try_lock()) {
        return;
      }
      cpu_relax();
    }
    // Whoever has waited leaves `contended` behind: it cannot know whether it was the only one.
    // acquire: what was written before the unlock. Nobody looks at a wish because of this.
    while (word_.exchange(contended, acquire) != free) {
      futex_wait(word_, contended);
    }
  }

  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t expected = free;
    // [A6] seq_cst on failure, too: the caller's wish before this look; partner: unlock(), then the look at the wish.
    return word_.compare_exchange_strong(expected, held, seq_cst, seq_cst);
  }

  void unlock() noexcept {
    // [A6] seq_cst: before the caller's look at the wishes.
    if (word_.exchange(free, seq_cst) == contended) {
      futex_wake(word_, 1);
    }
  }

 private:
  static constexpr std::size_t spins_before_sleep = size_or_modelled(1000, 1);
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t contended = 2;
  atomic<std::uint32_t> word_{free};
};

}  // namespace homing::sync
