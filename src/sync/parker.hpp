/// Where one thread sleeps and others wake it: a token in a futex word.
///
/// Ownership: one per thread; park() from its owner only. unpark() from any thread, at any time while the object's
///            memory exists (thread records are never freed, only reused), so that a late token is only a spurious
///            wake.
/// Order:     what happens before unpark() happens before the return of the park() that takes its token.
/// Errors:    none; a park may return without a token only when a signal interrupts it, and then it sleeps again.
/// Protocol:  docs/protocols/sleep.md [S5].
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"
#include "sync/futex.hpp"

namespace homing::sync {

class parker {
 public:
  /// Sleeps until a token is there, and takes it.
  void park() noexcept {
    // acquire: pairs with unpark()'s release, whose token this takes. [S5]
    if (word_.exchange(parked, acq_rel) != token) {
      do {
        futex_wait(word_, parked);
      } while (word_.load(relaxed) != token);
    }
    // acquire, by exchange: a second token that arrives now is taken with the first, and its waker's writes are seen.
    word_.exchange(empty, acq_rel);
  }

  /// As park(), for about so long at most. False if no token came.
  bool park_for(std::int64_t ns) noexcept {
    // acquire: as in park().
    const bool was_there = word_.exchange(parked, acq_rel) == token;
    if (!was_there) {
      futex_wait_for(word_, parked, ns);
    }
    // The sleeper's own end of its sleep: a token that comes later wakes nobody and is found at the next park. [S5]
    return word_.exchange(empty, acq_rel) == token || was_there;
  }

  /// Leaves a token; one futex wake if the owner sleeps, none otherwise.
  void unpark() noexcept {
    // release: publishes the waker's writes to park()'s acquire. [S5]
    if (word_.exchange(token, acq_rel) == parked) {
      futex_wake(word_, 1);
    }
  }

  /// Drops a token that may have been left; the owner calls it before it announces a new sleep.
  void clear() noexcept { word_.store(empty, relaxed); }

 private:
  static constexpr std::uint32_t empty = 0;
  static constexpr std::uint32_t token = 1;
  static constexpr std::uint32_t parked = 2;
  atomic<std::uint32_t> word_{empty};
};

}  // namespace homing::sync
