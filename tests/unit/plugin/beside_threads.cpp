// A program that has threads loads a plugin that uses TBB: the first use does not wait for the kernel, which takes
// milliseconds to register such a process for membarrier. A thread of the library's does; docs/protocols/sleep.md, S17.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdarg>
#include <mutex>
#include <thread>

#include "unit/common/await.hpp"

namespace {

std::atomic<long> registered_by = 0;
std::atomic<bool> is_held_up = true;
std::atomic<bool> used_after = false;

/// The kernel's answer, as the C library hands it on.
long raw_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
#if defined(__x86_64__)
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
#else
  register long x8 asm("x8") = number;
  register long result asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(result) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
#endif
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

}  // namespace

/// In place of the C library's, for the libraries that are loaded, too: a registration lasts until the test lets it
/// end.
extern "C" [[gnu::visibility("default")]] long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long args[6];
  for (long& a : args) {
    a = va_arg(list, long);
  }
  va_end(list);
  if (number == SYS_membarrier && args[0] == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) {
    registered_by = raw_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    while (is_held_up) {
      std::this_thread::yield();
    }
  }
  if (number == SYS_membarrier && args[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED && !is_held_up &&
      raw_call(SYS_gettid, 0, 0, 0, 0, 0, 0) == registered_by) {
    used_after = true;
  }
  return raw_call(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

namespace {

TEST(plugin, first_use_beside_threads_does_not_wait_for_the_kernel) {
  std::mutex lock;
  std::condition_variable changed;
  bool over = false;
  std::jthread other([&] {
    std::unique_lock hold(lock);
    changed.wait(hold, [&] { return over; });
  });
  void* const plugin = dlopen(HOMING_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  auto* const sum = reinterpret_cast<long (*)(long)>(dlsym(plugin, "plugin_sum"));
  ASSERT_NE(sum, nullptr);
  constexpr long count = 100'000;
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(sum(count), count * (count + 1) / 2) << "with full fences, round " << round;
  }
  homing::testing::await("the registration", [] { return registered_by != 0; });
  EXPECT_NE(registered_by, raw_call(SYS_gettid, 0, 0, 0, 0, 0, 0)) << "the first use waits for the kernel";
  is_held_up = false;
  for (int round = 0; round < 300; ++round) {
    EXPECT_EQ(sum(count), count * (count + 1) / 2) << "while fences change, round " << round;
  }
  homing::testing::await("the change of the fences", [] { return used_after.load(); });
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(sum(count), count * (count + 1) / 2) << "with asymmetric fences, round " << round;
  }
  {
    const std::lock_guard hold(lock);
    over = true;
  }
  changed.notify_all();
}

}  // namespace
