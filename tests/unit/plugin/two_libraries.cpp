// Two libraries in one program that knows nothing of TBB, each loaded for itself: they share the threads domain by
// domain, whoever of them comes and goes, and each finds the scheduler's addresses by itself.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <homing/lease.hpp>

#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"

namespace {

using counts = std::vector<int>;

class library {
 public:
  explicit library(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    find(start, "library_start");
    find(stop, "library_stop");
    find(workers, "library_workers");
    find(domains, "library_domains");
  }

  /// Waits until it has so many workers of each domain.
  void expect(const counts& expected) const {
    counts now;
    const auto are_there = [&] {
      now.clear();
      for (unsigned d = 0; d < expected.size(); ++d) now.push_back(workers(d));
      return now == expected;
    };
    EXPECT_TRUE(homing::testing::comes_true(are_there)) << ::testing::PrintToString(now);
  }

  void (*start)(int) = nullptr;
  void (*stop)() = nullptr;
  int (*workers)(unsigned) = nullptr;
  unsigned (*domains)() = nullptr;

 private:
  template <typename Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    ASSERT_NE(function, nullptr) << name;
  }
  void* handle_;
};

TEST(two_libraries, keep_threads_of_every_domain) {
  homing::testing::in_own_process(homing::testing::on_machine("node:2 core:4 pu:1"), [] {
    const library first(HOMING_TEST_LIBRARY_FIRST);
    const library second(HOMING_TEST_LIBRARY_SECOND);
    ASSERT_NE(first.workers, second.workers) << "two copies";
    ASSERT_EQ(first.domains(), 2U);
    ASSERT_EQ(second.domains(), 2U);
    first.start(8);
    first.expect({4, 4});
    for (int round = 0; round < 20; ++round) {
      second.start(8);
      first.expect({2, 2});
      second.expect({2, 2});
      second.stop();
      first.expect({4, 4});
    }
    first.stop();
  });
}

TEST(two_libraries, keep_threads_of_four_domains) {
  homing::testing::in_own_process(homing::testing::on_machine("node:4 core:2 pu:1"), [] {
    const library first(HOMING_TEST_LIBRARY_FIRST);
    const library second(HOMING_TEST_LIBRARY_SECOND);
    first.start(8);
    second.start(8);
    first.expect({1, 1, 1, 1});
    second.expect({1, 1, 1, 1});
    first.stop();
    second.expect({2, 2, 2, 2});
    second.stop();
  });
}

/// The program's own threads are the third party.
TEST(two_libraries, lend_threads_to_a_program_without_tbb) {
  homing::testing::in_own_process(homing::testing::on_machine("node:2 core:4 pu:1"), [] {
    homing::lease early(4);
    EXPECT_FALSE(early.is_managed()) << "no library has brought a scheduler yet";
    const library first(HOMING_TEST_LIBRARY_FIRST);
    first.start(8);
    first.expect({4, 4});
    {
      const homing::lease five(5);
      EXPECT_TRUE(five.is_managed());
      EXPECT_EQ(five.threads(), 5U);
      first.expect({2, 2});
    }
    first.expect({4, 4});
    early.renew();
    EXPECT_TRUE(early.is_managed());
    early.end();
    first.stop();
  });
}

/// A library without TBB has asked for the scheduler before one is there: those that bring it find it all the same.
TEST(two_libraries, find_a_scheduler_that_another_library_asked_for_too_early) {
  homing::testing::in_own_process(homing::testing::on_machine("node:2 core:4 pu:1"), [] {
    void* const lessee = dlopen(HOMING_TEST_LESSEE, RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(lessee, nullptr) << dlerror();
    const auto is_managed = reinterpret_cast<bool (*)()>(dlsym(lessee, "lessee_is_managed"));
    ASSERT_NE(is_managed, nullptr);
    EXPECT_FALSE(is_managed());
    const library first(HOMING_TEST_LIBRARY_FIRST);
    EXPECT_EQ(first.domains(), 2U);
    EXPECT_TRUE(is_managed());
    const library second(HOMING_TEST_LIBRARY_SECOND);
    EXPECT_EQ(second.domains(), 2U);
  });
}

}  // namespace
