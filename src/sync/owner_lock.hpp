/// A lock that one thread takes all the time and others hardly ever: for its owner it costs no locked operation.
///
/// Threads: lock_as_owner() by one thread at a time, others' use of it as owner ordered before; lock_as_other() by any,
///          the owner, too. Not recursive. Between a lock and its unlock nothing blocks, allocates or calls user code.
/// Order:   a critical section sees all that earlier ones wrote.
/// Cost:    the owner's: two stores and a light fence. Another thread's first comes with a heavy fence and makes the
///          lock an ordinary one, until its owner has had it many times in a row.
/// Protocol: docs/protocols/owner_lock.md, labels [OL1] to [OL4].
#pragma once

#include <cstdint>

#include "platform/check.hpp"
#include "sync/asymmetric_fence.hpp"
#include "sync/atomic.hpp"
#include "sync/spin_lock.hpp"

namespace homing::sync {

/// `AloneEnough`: how often the owner must have the shared lock in a row before it is its own again. A heavy fence
/// costs some 100 times what a locked operation does.
template <unsigned AloneEnough>
class basic_owner_lock {
 public:
  void lock_as_owner() noexcept {
    if (!try_lock_as_owner()) {
      lock_shared_one();
    }
  }
  void unlock_as_owner() noexcept {
    if (__builtin_expect(holds_shared_one_, false)) {
      unlock_shared_one();
      return;
    }
    unlock_own();
  }

  /// The cheap way alone, and a light fence in any case. False if the lock is shared: the owner has nothing then.
  [[nodiscard]] bool try_lock_as_owner() noexcept {
    platform::require_hot([&] { return !inside_.load(relaxed); }, "OL1: its owner is not inside already");
    inside_.store(true, relaxed);
    // relaxed, both: the fence between them orders them; who finds the lock shared acquires by the one beneath.
    light_fence();  // [OL1] inside, before the look; partner OL2
    if (__builtin_expect(is_shared_.load(relaxed), false)) {
      // release: this visit was none, and changed nothing.
      inside_.store(false, release);
      return false;
    }
    return true;
  }
  /// After try_lock_as_owner().
  void unlock_own() noexcept {
    // release: publishes the critical section to the acquire of OL3.
    inside_.store(false, release);
  }

  /// The first half of lock_as_other(): until the second nothing may be touched. True if a heavy fence must come in
  /// between; one is enough for any number of locks.
  [[nodiscard]] bool begin_lock_as_other() noexcept {
    shared_one_.lock();
    alone_ = 0;
    // relaxed: it is written under the lock that we hold.
    if (is_shared_.load(relaxed)) {
      return false;
    }
    is_shared_.store(true, relaxed);  // [OL2] before the heavy fence and the look at the owner; partner OL1
    return true;
  }
  void end_lock_as_other() noexcept {
    // [OL3] acquire: the owner's last section of the cheap kind, from its release.
    for (unsigned spins = 0; inside_.load(acquire); ++spins) {
      spins < spins_before_yield ? cpu_relax() : yield();
    }
  }
  void lock_as_other() noexcept {
    if (begin_lock_as_other()) {
      heavy_fence();
    }
    end_lock_as_other();
  }
  void unlock_as_other() noexcept { shared_one_.unlock(); }

 private:
  static void yield() noexcept { sched_yield(); }
  [[gnu::noinline, gnu::cold]] void lock_shared_one() noexcept {
    shared_one_.lock();
    holds_shared_one_ = true;
  }
  [[gnu::noinline, gnu::cold]] void unlock_shared_one() noexcept {
    holds_shared_one_ = false;
    if (++alone_ >= AloneEnough) {
      // [OL4] Under the shared lock: who comes next finds it the owner's, and goes through OL2.
      is_shared_.store(false, relaxed);
    }
    shared_one_.unlock();
  }

  static constexpr unsigned spins_before_yield = 64;
  atomic<bool> inside_{false};            ///< the owner, by the cheap way
  atomic<bool> is_shared_{false};         ///< the owner must take the other lock; written under it
  plain<bool> holds_shared_one_ = false;  ///< the owner, by the other way; its own
  plain<unsigned> alone_ = 0;             ///< the owner's sections since another thread's; guarded by shared_one_
  spin_lock shared_one_;
};

inline constexpr unsigned alone_enough = 1024;
using owner_lock = basic_owner_lock<alone_enough>;

/// Holds the lock for a scope, as the owner or another thread.
template <unsigned AloneEnough>
class [[nodiscard]] scoped_owner_lock {
 public:
  scoped_owner_lock(basic_owner_lock<AloneEnough>& lock, bool as_owner) noexcept : lock_(lock), as_owner_(as_owner) {
    as_owner ? lock.lock_as_owner() : lock.lock_as_other();
  }
  ~scoped_owner_lock() { as_owner_ ? lock_.unlock_as_owner() : lock_.unlock_as_other(); }
  scoped_owner_lock(const scoped_owner_lock&) = delete;
  scoped_owner_lock& operator=(const scoped_owner_lock&) = delete;

 private:
  basic_owner_lock<AloneEnough>& lock_;
  const bool as_owner_;
};

}  // namespace homing::sync
