/// A one-byte lock for critical sections of a few instructions, which gives its CPU away when the wait is long.
///
/// Threads: any. Not recursive, not fair. Between a lock and its unlock nothing blocks, allocates or calls user code.
#pragma once

#include <sched.h>

#include "sync/atomic.hpp"

namespace homing::sync {

class spin_lock {
 public:
  void lock() noexcept {
    for (unsigned spins = 0; !try_lock(); ++spins) {
      if (spins < spins_before_yield) {
        cpu_relax();
      } else {
        sched_yield();  // the holder may have lost its CPU: oversubscribed machines need this
      }
    }
  }

  [[nodiscard]] bool try_lock() noexcept {
    // acquire: sees what the last holder wrote before its release in unlock(). The load first keeps the line shared.
    return !held_.load(relaxed) && !held_.exchange(true, acquire);
  }

  /// Whether somebody holds it. acquire: if nobody does, what its last holder wrote.
  [[nodiscard]] bool is_held() const noexcept { return held_.load(acquire); }

  // release: publishes the critical section to the next acquire in try_lock().
  void unlock() noexcept { held_.store(false, release); }

 private:
  static constexpr unsigned spins_before_yield = 64;
  atomic<bool> held_{false};
};

/// Holds a lock for a scope.
class [[nodiscard]] scoped_spin_lock {
 public:
  explicit scoped_spin_lock(spin_lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~scoped_spin_lock() { lock_.unlock(); }
  scoped_spin_lock(const scoped_spin_lock&) = delete;
  scoped_spin_lock& operator=(const scoped_spin_lock&) = delete;

 private:
  spin_lock& lock_;
};

}  // namespace homing::sync
