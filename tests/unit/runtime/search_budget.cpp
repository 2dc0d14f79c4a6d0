// How long a thread without work looks for some before it sleeps: on a large machine as long as on a small one.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <chrono>

#include "runtime/search/search_pace.hpp"
#include "runtime/settings/scheduler_settings.hpp"
#include "runtime/thread/thread_state.hpp"

namespace {

using homing::scheduler::search_budget_for;
using namespace std::chrono_literals;

TEST(search_budget, does_not_shrink_with_the_machine) {
  for (const unsigned threads : {1U, 2U, 16U, 64U, 1024U})
    EXPECT_EQ(search_budget_for(threads, false), 250us) << threads;
}

TEST(search_budget, of_threads_that_share_cpus_is_bounded_for_all_of_them) {
  EXPECT_EQ(search_budget_for(2, true), 250us);
  for (const unsigned threads : {16U, 64U, 1024U})
    EXPECT_LE(search_budget_for(threads, true) * threads, 4ms) << threads;
  EXPECT_EQ(search_budget_for(0, true), 250us);
}

/// [S18] A millisecond in all, as stock's, for who was called within a millisecond the last time.
TEST(search_budget, a_worker_waits_for_the_end_of_a_serial_part) {
  using homing::scheduler::time_awake;
  EXPECT_EQ(search_budget_for(16, false) + homing::scheduler::wait_in_serial_part(search_budget_for(16, false)), 1ms);
  const auto in_arena = [](auto leave, auto&& check) {
    tbb::task_arena arena(2, 1, tbb::task_arena::priority::normal, leave);
    arena.execute([&] { check(*homing::scheduler::this_thread().in); });
  };
  constexpr bool looked_long = true;
  constexpr bool called_soon = true;
  using leave = tbb::task_arena::leave_policy;
  in_arena(leave::automatic, [](const homing::scheduler::arena& a) {
    const auto budget = a.settings().search_budget;
    EXPECT_EQ(time_awake(a, looked_long, !called_soon), 0us);
    EXPECT_EQ(time_awake(a, !looked_long, !called_soon), budget);
    EXPECT_EQ(time_awake(a, looked_long, called_soon), 3 * budget);
    EXPECT_EQ(time_awake(a, !looked_long, called_soon), 4 * budget);
  });
  in_arena(leave::fast,
           [](const homing::scheduler::arena& a) { EXPECT_EQ(time_awake(a, !looked_long, called_soon), 0us); });
}

}  // namespace
