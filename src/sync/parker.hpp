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

#include "platform/check.hpp"
#include "sync/atomic.hpp"
#include "sync/futex.hpp"

namespace homing::sync {

class parker {
 public:
  /// Sleeps until a token is there, and takes it.
  void park() noexcept {
    // relaxed: where this reads a token, it passes the token's release on to the acquire below. [S5]
    const std::uint32_t before = word_.exchange(parked, relaxed);
    platform::require_hot([&] { return before != parked; }, "S5: one thread parks here, its owner");
    if (before != token) {
      do {
        futex_wait(word_, parked);
      } while (word_.load(relaxed) != token);
    }
    // acquire: pairs with unpark()'s release. By exchange: a second token that arrives now is taken with the first, and
    // its waker's writes are seen.
    word_.exchange(empty, acquire);
  }

  /// As park(), for about so long at most. False if no token came.
  bool park_for(std::int64_t ns) noexcept {
    // relaxed, and acquire below: as in park().
    const bool was_there = word_.exchange(parked, relaxed) == token;
    if (!was_there) {
      futex_wait_for(word_, parked, ns);
    }
    // The sleeper's own end of its sleep: a token that comes later wakes nobody and is found at the next park. [S5]
    return word_.exchange(empty, acquire) == token || was_there;
  }

  /// Leaves a token; one futex wake if the owner sleeps, none otherwise.
  void unpark() noexcept {
    // release: publishes the waker's writes to park()'s acquire; an earlier token's are passed on with them. [S5]
    if (word_.exchange(token, release) == parked) {
      futex_wake(word_, 1);
    }
  }

  /// Owner: whether the next park() would return at once.
  [[nodiscard]] bool has_token() const noexcept { return word_.load(relaxed) == token; }

  /// Drops a token that may have been left; the owner calls it before it announces a new sleep.
  void clear() noexcept { word_.store(empty, relaxed); }

 private:
  static constexpr std::uint32_t empty = 0;
  static constexpr std::uint32_t token = 1;
  static constexpr std::uint32_t parked = 2;
  atomic<std::uint32_t> word_{empty};
};

}  // namespace homing::sync
