// A store before a light fence or a store before a heavy one is seen by the other side: the store-load litmus test,
// with membarrier, as if the kernel refused it, and when it begins to refuse it.
#include "sync/asymmetric_fence.hpp"

#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/wait.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "unit/common/litmus.hpp"
#include "unit/common/system_call_filter.hpp"

namespace {

namespace sync = homing::sync;
using homing::testing::refuse;

struct alignas(sync::cache_line_bytes) lonely {
  sync::atomic<unsigned> value{0};
};

bool by_membarrier() { return sync::detail::fences.load(sync::relaxed) == sync::fence_kind::asymmetric; }

constexpr unsigned heavy_stores = 2'000;
constexpr unsigned runs = 20;  // each with its own distance and its own places in memory

/// Each side stores rising numbers and reads the other's, at its own speed. Returns the number of stores with which
/// the two missed each other: the heavy side's store m, after which it read k, and the light side's store k + 1, after
/// which it had not read m. What the fences promise is 0. Once the time is up, it ends behind `midway`.
template <typename Midway>
unsigned times_missed_in_one_run(homing::testing::time_budget& budget, Midway&& midway) {
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
  unsigned made = 0;
  for (unsigned m = 1; m <= heavy_stores && (budget.left() || m <= heavy_stores / 2); ++m) {
    homing::testing::await_spinning("a store of the light side since the last round",
                                    [&] { return of_light.value.load(sync::relaxed) > then_read[m - 1]; });
    if (m == heavy_stores / 2) {
      midway();
    }
    homing::testing::dawdle(m % 31);
    of_heavy.value.store(m, sync::relaxed);
    sync::heavy_fence();
    then_read[m] = of_light.value.load(sync::relaxed);
    made = m;
  }
  of_heavy.value.store(heavy_stores, sync::relaxed);  // the light side's end
  light.join();
  unsigned missed = 0;
  for (unsigned m = 1; m <= made; ++m) {
    missed += first_to_see[m] > then_read[m] + 1 ? 1U : 0U;
  }
  return missed;
}

unsigned times_missed() {
  unsigned missed = 0;
  homing::testing::time_budget budget;
  for (unsigned run = 0; run < runs && budget.left(); ++run) {
    missed += times_missed_in_one_run(budget, [] {});
  }
  return missed;
}

TEST(asymmetric_fence, one_side_sees_the_other_by_membarrier) {
  sync::prepare_asymmetric_fences();
  if (!by_membarrier()) {
    GTEST_SKIP() << "the kernel refuses membarrier here";
  }
  EXPECT_EQ(times_missed(), 0U);
}

TEST(asymmetric_fence, registering_twice_is_harmless) {
  sync::prepare_asymmetric_fences();
  const bool first = by_membarrier();
  sync::prepare_asymmetric_fences();
  EXPECT_EQ(by_membarrier(), first);
  sync::heavy_fence();
}

TEST(asymmetric_fence, one_side_sees_the_other_while_full_fences_become_asymmetric) {
  sync::prepare_asymmetric_fences();
  if (!by_membarrier()) {
    GTEST_SKIP() << "the kernel refuses membarrier here";
  }
  unsigned missed = 0;
  homing::testing::time_budget budget;
  for (unsigned run = 0; run < runs && budget.left(); ++run) {
    sync::detail::fences.store(sync::fence_kind::full, sync::seq_cst);  // nobody is between two fences
    std::jthread changer;
    missed +=
        times_missed_in_one_run(budget, [&] { changer = std::jthread([] { sync::prepare_asymmetric_fences(); }); });
    changer.join();
    EXPECT_TRUE(by_membarrier());
  }
  EXPECT_EQ(missed, 0U);
}

// ---- refused

constexpr int good = 0;
constexpr int bad = 1;
constexpr int cannot_forbid = 2;

/// Runs `body` in a child; returns its status. The test is over if no seccomp filter may be set here.
template <typename Body>
int status_of_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(100);  // seconds: a child that hangs ends by itself
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

/// Refuses membarrier's use, but not its other commands.
bool refuse_expedited_only() {
  const sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof program / sizeof program[0], const_cast<sock_filter*>(program)};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

#define SKIP_WITHOUT_FILTERS(status)                               \
  if (WIFEXITED(status) && WEXITSTATUS(status) == cannot_forbid) { \
    GTEST_SKIP() << "no seccomp filter may be set here";           \
  }

TEST(asymmetric_fence, one_side_sees_the_other_where_membarrier_is_refused) {
  const int status = status_of_child([] {
    if (!refuse({SYS_membarrier}, EPERM)) return cannot_forbid;
    sync::prepare_asymmetric_fences(sync::company::none);
    return !by_membarrier() && times_missed() == 0 ? good : bad;
  });
  SKIP_WITHOUT_FILTERS(status);
  EXPECT_EQ(status, 0) << "both sides missed each other, or the refusal went unnoticed";
}

TEST(asymmetric_fence, where_only_its_use_is_refused_the_start_notices) {
  const int status = status_of_child([] {
    if (!refuse_expedited_only()) return cannot_forbid;
    sync::prepare_asymmetric_fences(sync::company::none);
    return by_membarrier() ? bad : good;
  });
  SKIP_WITHOUT_FILTERS(status);
  EXPECT_EQ(status, 0);
}

/// The light side is at work when the heavy one's thread is refused membarrier; both go on with full fences.
template <typename Refuse>
int go_on_after(Refuse&& refuse_now) {
  sync::prepare_asymmetric_fences();
  if (!by_membarrier()) return cannot_forbid;
  bool done = true;
  homing::testing::time_budget budget;
  unsigned missed = times_missed_in_one_run(budget, [&] { done = refuse_now(); });
  if (!done) return cannot_forbid;
  missed += times_missed();
  sync::prepare_asymmetric_fences();  // as a later arena's, or a child's
  return missed == 0 && sync::detail::fences.load(sync::relaxed) == sync::fence_kind::full ? good : bad;
}

TEST(asymmetric_fence, one_side_sees_the_other_when_membarrier_is_refused_later) {
  const int status = status_of_child([] { return go_on_after([] { return refuse({SYS_membarrier}, EPERM); }); });
  SKIP_WITHOUT_FILTERS(status);
  EXPECT_EQ(status, 0) << "both sides missed each other, or the refusal went unnoticed";
}

TEST(asymmetric_fence, one_side_sees_the_other_when_its_use_is_refused_later) {
  const int status = status_of_child([] { return go_on_after(refuse_expedited_only); });
  SKIP_WITHOUT_FILTERS(status);
  EXPECT_EQ(status, 0) << "both sides missed each other, or the refusal went unnoticed";
}

TEST(asymmetric_fence, where_nothing_can_take_its_place_the_process_ends_with_a_line) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int status = status_of_child([&] {
    sync::prepare_asymmetric_fences();
    if (!by_membarrier() || !refuse({SYS_membarrier, SYS_sched_setaffinity}, EPERM)) return cannot_forbid;
    dup2(ends[1], STDERR_FILENO);
    sync::heavy_fence();
    return bad;
  });
  close(ends[1]);
  SKIP_WITHOUT_FILTERS(status);
  char text[1024] = {};
  static_cast<void>(!read(ends[0], text, sizeof text - 1));
  close(ends[0]);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << "status " << status;
  EXPECT_NE(std::string(text).find("membarrier, granted at start, is refused now"), std::string::npos) << text;
}

}  // namespace
