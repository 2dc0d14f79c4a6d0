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

void spin() {
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
       std::chrono::steady_clock::now() < end;) {
  }
}

TEST(short_loops, keep_no_other_arena_waiting) {
  const int threads = tbb::this_task_arena::max_concurrency();
  for (int round = 0; round < 30; ++round) {
    tbb::task_arena other(threads, 0U);
    std::atomic<bool> ran{false};
    tbb::parallel_for(0, threads, [](int) { spin(); });  // its workers are here when the task comes
    other.enqueue([&] { ran = true; });
    EXPECT_TRUE(comes_true([&] {
      tbb::parallel_for(
          0, threads, [](int) { spin(); }, tbb::simple_partitioner());
      return ran.load();
    })) << "what was enqueued in the other arena";
  }
}

}  // namespace
