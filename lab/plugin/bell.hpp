/// What a thread sleeps on until another rings, or a millisecond is over: nobody's sleep hangs on a ring that was
/// missed.
///
/// Threads: wait() by one, ring() by any.
/// Errors:  none; an interrupted sleep is a short one.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace homing::lab::model {

class bell {
 public:
  /// What wait() takes: a ring after this ends it.
  [[nodiscard]] std::uint32_t rings() const noexcept { return rings_.load(std::memory_order_relaxed); }
  void ring() noexcept {
    // Relaxed: the kernel compares the word under a lock of its own, and nothing is read by its order.
    rings_.fetch_add(1, std::memory_order_relaxed);
    syscall(SYS_futex, &rings_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void wait(std::uint32_t seen) noexcept {
    const timespec longest{0, 1000000};
    syscall(SYS_futex, &rings_, FUTEX_WAIT_PRIVATE, seen, &longest, nullptr, 0);
  }

 private:
  std::atomic<std::uint32_t> rings_{0};
  static_assert(sizeof(std::atomic<std::uint32_t>) == 4);
};

}  // namespace homing::lab::model
