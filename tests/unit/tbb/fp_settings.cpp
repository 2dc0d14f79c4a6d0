// Floating-point settings: those of an arena hold in execute(), and the caller's come back if they are others; what the
// function itself changes stays changed, as after a call without an arena. Tasks run with their context's. Method: the
// rounding mode before, in and after each call, also on stock oneTBB.
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <stdexcept>

namespace {

class fp_settings : public ::testing::Test {
 protected:
  void SetUp() override {
    std::fesetround(FE_TONEAREST);
    arena_.initialize();  // its settings are those of now
  }
  void TearDown() override { std::fesetround(FE_TONEAREST); }

  tbb::task_arena arena_{2};
};

TEST_F(fp_settings, in_another_arena_are_that_arenas_and_the_callers_come_back) {
  std::fesetround(FE_UPWARD);
  int inside = FE_UPWARD;
  arena_.execute([&] { inside = std::fegetround(); });
  EXPECT_EQ(inside, FE_TONEAREST);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
}

TEST_F(fp_settings, of_the_caller_come_back_after_an_exception_too) {
  std::fesetround(FE_DOWNWARD);
  EXPECT_THROW(arena_.execute([] { throw std::runtime_error("left by an exception"); }), std::runtime_error);
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
}

TEST_F(fp_settings, that_the_function_changes_stay_changed) {
  arena_.execute([] { std::fesetround(FE_UPWARD); });
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  arena_.execute([&] {
    arena_.execute([] { std::fesetround(FE_DOWNWARD); });
    EXPECT_EQ(std::fegetround(), FE_DOWNWARD) << "in the arena that the thread is in already";
  });
}

TEST_F(fp_settings, leave_the_flags_of_what_was_computed) {
  if (std::getenv("HOMING_TEST_STOCK") != nullptr) GTEST_SKIP() << "stock oneTBB clears them";
  std::feclearexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_UPWARD);
  volatile double zero = 0;
  arena_.execute([&] { zero = 1 / zero; });
  EXPECT_NE(std::fetestexcept(FE_DIVBYZERO), 0);
  std::feclearexcept(FE_ALL_EXCEPT);
}

TEST_F(fp_settings, of_tasks_are_their_contexts) {
  tbb::task_group_context upward(tbb::task_group_context::isolated,
                                 tbb::task_group_context::default_traits | tbb::task_group_context::fp_settings);
  std::fesetround(FE_UPWARD);
  upward.capture_fp_settings();
  std::fesetround(FE_TONEAREST);
  std::atomic<int> others{0};
  tbb::parallel_for(
      0, 1000, [&](int) { others += std::fegetround() == FE_UPWARD ? 0 : 1; }, tbb::simple_partitioner(), upward);
  EXPECT_EQ(others, 0);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

}  // namespace
