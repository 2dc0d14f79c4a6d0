/// A lock of one byte for what is held for some hundred instructions: the model has millions of them.
///
/// Threads: any. A holder never waits for another CPU, only for the next lock in the model's order, so that every wait
///          ends; a waiter gives its processor away, for there may be more virtual CPUs than real ones.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace homing::lab::model {

class spin_lock {
 public:
  void lock() noexcept {
    // Acquire, with unlock(): who has the lock sees what the last holder wrote.
    for (unsigned tries = 0; taken_.exchange(1, std::memory_order_acquire) != 0; ++tries) {
      if (tries > 32) sched_yield();
    }
  }
  void unlock() noexcept { taken_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint8_t> taken_{0};
};

}  // namespace homing::lab::model
