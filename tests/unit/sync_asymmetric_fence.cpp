// A store before a light fence or a store before a heavy one is seen by the other side: the store-load litmus test,
// with membarrier and as if the kernel refused it.
#include "sync/asymmetric_fence.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <thread>
#include <vector>

#include "unit/litmus.hpp"

namespace {

namespace sync = homing::sync;

struct alignas(sync::cache_line_bytes) lonely {
  sync::atomic<unsigned> value{0};
};

constexpr unsigned heavy_stores = 2'000;

/// Each side stores rising numbers and reads the other's, at its own speed. Returns the number of stores with which
/// the two missed each other: the heavy side's store m, after which it read k, and the light side's store k + 1, after
/// which it had not read m. What the fences promise is 0.
unsigned times_missed_in_one_run() {
  lonely of_light;
  lonely of_heavy;
  std::vector<unsigned> first_to_see(heavy_stores + 1);  // by m: the first light store after which m had been read
  std::vector<unsigned> then_read(heavy_stores + 1);     // by m: k
  std::thread light([&] {
    unsigned seen = 0;
    homing::testing::restlessness pace;
    for (unsigned k = 1; seen < heavy_stores; ++k) {
      of_light.value.store(k, sync::relaxed);
      sync::light_fence();
      const unsigned now = of_heavy.value.load(sync::relaxed);
      pace.round(seen != now);
      while (seen != now) {
        first_to_see[++seen] = k;
      }
    }
  });
  for (unsigned m = 1; m <= heavy_stores; ++m) {
    homing::testing::await_spinning("a store of the light side since the last round",
                                    [&] { return of_light.value.load(sync::relaxed) > then_read[m - 1]; });
    homing::testing::dawdle(m % 31);
    of_heavy.value.store(m, sync::relaxed);
    sync::heavy_fence();
    then_read[m] = of_light.value.load(sync::relaxed);
  }
  light.join();
  unsigned missed = 0;
  for (unsigned m = 1; m <= heavy_stores; ++m) {
    missed += first_to_see[m] > then_read[m] + 1 ? 1U : 0U;
  }
  return missed;
}

unsigned times_missed() {
  unsigned missed = 0;
  for (unsigned run = 0; run < 20; ++run) {  // each with its own distance and its own places in memory
    missed += times_missed_in_one_run();
  }
  return missed;
}

TEST(asymmetric_fence, one_side_sees_the_other_by_membarrier) {
  sync::prepare_asymmetric_fences();
  if (!sync::detail::membarrier_available) {
    GTEST_SKIP() << "the kernel refuses membarrier here";
  }
  EXPECT_EQ(times_missed(), 0U);
}

TEST(asymmetric_fence, registering_twice_is_harmless) {
  sync::prepare_asymmetric_fences();
  const bool first = sync::detail::membarrier_available;
  sync::prepare_asymmetric_fences();
  EXPECT_EQ(sync::detail::membarrier_available, first);
  sync::heavy_fence();
}

/// The child may not call membarrier: it is answered with EPERM, as sandboxes do.
[[noreturn]] void run_without_membarrier() {
  const sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof program / sizeof program[0], const_cast<sock_filter*>(program)};
  constexpr int cannot_forbid = 2;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    _exit(cannot_forbid);
  }
  sync::prepare_asymmetric_fences();
  _exit(!sync::detail::membarrier_available && times_missed() == 0 ? 0 : 1);
}

TEST(asymmetric_fence, one_side_sees_the_other_where_membarrier_is_refused) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    run_without_membarrier();
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == 2) {
    GTEST_SKIP() << "no seccomp filter may be set here";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0) << "both sides missed each other, or the refusal went unnoticed";
}

}  // namespace
