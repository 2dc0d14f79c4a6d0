/// The system call behind futex.hpp, and what its errors mean here.
#include "sync/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace homing::sync {
namespace {

// The kernel reads the word as a plain aligned 32-bit integer.
static_assert(sizeof(atomic<std::uint32_t>) == 4 && atomic<std::uint32_t>::is_always_lock_free);

[[noreturn]] void die(const char* call, int error) noexcept {
  std::fprintf(stderr, "homing: futex %s failed: %s; the word's address is not valid, or a sandbox forbids futexes\n",
               call, std::strerror(error));
  std::abort();
}

long futex(const atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* limit = nullptr) noexcept {
  return ::syscall(SYS_futex, &word, operation, value, limit, nullptr, 0);
}

}  // namespace

void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  const int saved_errno = errno;  // user code above us may be between a call of its own and its look at errno
  // EAGAIN: the word had changed. EINTR: a signal. Both are for the caller's loop.
  if (futex(word, FUTEX_WAIT_PRIVATE, expected) == -1 && errno != EAGAIN && errno != EINTR) {
    die("wait", errno);
  }
  errno = saved_errno;
}

void futex_wait_for(const atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t ns) noexcept {
  const int saved_errno = errno;
  constexpr std::int64_t second_ns = 1'000'000'000;
  const timespec limit{static_cast<time_t>(ns / second_ns), static_cast<long>(ns % second_ns)};
  if (futex(word, FUTEX_WAIT_PRIVATE, expected, &limit) == -1 && errno != EAGAIN && errno != EINTR &&
      errno != ETIMEDOUT) {
    die("wait", errno);
  }
  errno = saved_errno;
}

void futex_wake(const atomic<std::uint32_t>& word, std::uint32_t count) noexcept {
  const int saved_errno = errno;
  // The kernel's count is signed.
  const std::uint32_t limit = std::min(count, static_cast<std::uint32_t>(INT_MAX));
  // EFAULT: the word's memory was unmapped after its sleeper left; nobody is left to wake.
  if (futex(word, FUTEX_WAKE_PRIVATE, limit) == -1 && errno != EFAULT) {
    die("wake", errno);
  }
  errno = saved_errno;
}

}  // namespace homing::sync
