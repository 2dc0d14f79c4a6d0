// HOMING_PIN_MASTERS: application threads are kept in the domains that they are dealt to while they are registered, by
// the kernel's own word.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <sched.h>

#include <new>
#include <set>
#include <thread>

#include "unit/common/own_process.hpp"

namespace {

using homing::testing::environment;
using homing::testing::in_own_process;

/// Two nodes of one CPU each, which stand on two different real ones.
const environment pinning = {{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}, {"HOMING_PIN_MASTERS", "1"}};

std::set<int> mask() {
  cpu_set_t raw;
  EXPECT_EQ(sched_getaffinity(0, sizeof raw, &raw), 0);
  std::set<int> result;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &raw)) {
      result.insert(cpu);
    }
  }
  return result;
}

void set_mask(const std::set<int>& cpus) {
  cpu_set_t raw;
  CPU_ZERO(&raw);
  for (const int cpu : cpus) {
    CPU_SET(cpu, &raw);
  }
  EXPECT_EQ(sched_setaffinity(0, sizeof raw, &raw), 0);
}

void use_tbb() {
  tbb::parallel_for(0, 8, [](int) {});
}

class pin_external_threads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (mask().size() < 2) {
      GTEST_SKIP() << "needs two CPUs";
    }
  }
};

TEST_F(pin_external_threads, are_dealt_over_the_domains) {
  in_own_process(pinning, [] {
    const std::set<int> before = mask();
    use_tbb();
    const std::set<int> first = mask();
    EXPECT_EQ(first.size(), 1U);
    std::set<int> second;
    std::set<int> third;
    std::thread([&] {
      set_mask(before);  // not the one inherited from a pinned thread
      use_tbb();
      second = mask();
      std::thread([&] {
        use_tbb();
        third = mask();
      }).join();
    }).join();
    EXPECT_EQ(second.size(), 1U);
    EXPECT_NE(second, first) << "the second goes to the other domain";
    EXPECT_EQ(third, second) << "a thread that inherits its maker's narrow mask is bound already";
  });
}

TEST_F(pin_external_threads, get_their_mask_back_at_the_end) {
  in_own_process(pinning, [] {
    const std::set<int> before = mask();
    tbb::task_scheduler_handle handle{tbb::attach{}};
    use_tbb();
    EXPECT_EQ(mask().size(), 1U);
    EXPECT_TRUE(tbb::finalize(handle, std::nothrow));
    EXPECT_EQ(mask(), before);
  });
}

TEST_F(pin_external_threads, that_their_user_has_bound_stay_there) {
  in_own_process(pinning, [] {
    for (const int cpu : {*mask().rbegin(), *mask().begin()}) {
      std::thread([&] {
        set_mask({cpu});
        use_tbb();
        EXPECT_EQ(mask(), std::set<int>{cpu});
      }).join();
    }
  });
}

TEST_F(pin_external_threads, is_off_unless_asked_for) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}}, [] {
    const std::set<int> before = mask();
    use_tbb();
    EXPECT_EQ(mask(), before);
  });
}

}  // namespace
