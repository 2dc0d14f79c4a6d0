// A task that waits for an older one, which its thread spawned before it, ends if one more thread looks for work: a
// thief takes the oldest. oneTBB promises no order; programs that wait so hang without one.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>

#include "unit/common/await.hpp"

namespace {

using homing::testing::await;

/// In each round the deque's tasks lie elsewhere, and the pieces of the loop fill its array, while the thief steals.
TEST(older_task, is_taken_before_the_pieces_of_a_loop_that_waits_for_it) {
  constexpr int rounds = 10'000;
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);  // on one CPU, too
  tbb::task_arena(2).execute([] {
    for (int round = 0; round < rounds; ++round) {
      tbb::task_group group;
      std::atomic<int> early{0};
      for (int i = 0; i < round % 23; ++i) {
        group.run([&] { ++early; });
      }
      std::atomic<bool> begun{false};
      group.run([&] { begun = true; });
      group.run([&] {
        tbb::parallel_for(
            0, 8, [&](int) { await("the task that was spawned first", [&] { return begun.load(); }); },
            tbb::simple_partitioner());
      });
      group.wait();
      ASSERT_EQ(early, round % 23);
    }
  });
}

}  // namespace
