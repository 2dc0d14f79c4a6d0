// A thread runs short loops one after the other, and its arena keeps workers that ran dry just now. What somebody
// enqueues in another arena runs all the same: on the real machine, whose CPUs the threads don't share.
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <chrono>

#include "unit/common/await.hpp"

namespace {

using homing::testing::comes_true;

void spin(int us) {
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
       std::chrono::steady_clock::now() < end;) {
  }
}

/// One task a thread, and a pause in which workers look for work, but not for long.
void run_short_loop() {
  tbb::parallel_for(
      0, tbb::this_task_arena::max_concurrency(), [](int) { spin(20); }, tbb::simple_partitioner());
  spin(30);
}

TEST(short_loops, keep_no_other_arena_waiting) {
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 20; ++i) run_short_loop();  // all workers are here when the task comes
    tbb::task_arena other(tbb::this_task_arena::max_concurrency(), 0U);
    std::atomic<bool> ran{false};
    other.enqueue([&] { ran = true; });
    ASSERT_TRUE(comes_true([&] {
      run_short_loop();
      return ran.load();
    })) << "what was enqueued in the other arena never ran";
  }
}

}  // namespace
