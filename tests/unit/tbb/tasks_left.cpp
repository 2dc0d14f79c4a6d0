// A task that is left in an arena which nobody can enter any more is done all the same: whoever waits for it may be
// elsewhere. oneTBB's own library leaves those of an arena of one thread undone, and the waiter waits for ever.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <thread>

namespace {

constexpr int tasks = 100;

void run_all(tbb::task_group& group, std::atomic<int>& done) {
  for (int i = 0; i < tasks; ++i) {
    group.run([&] { ++done; });
  }
}

TEST(tasks_left, in_an_arena_of_one_thread) {
  for (const auto priority : {tbb::task_arena::priority::low, tbb::task_arena::priority::high}) {
    for (int round = 0; round < 200; ++round) {
      std::atomic<int> done{0};
      tbb::task_group group;
      {
        tbb::task_arena gone(1, 1, priority);
        gone.execute([&] { run_all(group, done); });
      }
      group.wait();
      ASSERT_EQ(done, tasks);
    }
  }
}

TEST(tasks_left, in_an_arena_of_one_thread_where_no_worker_is_allowed) {
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> done{0};
    tbb::task_group group;
    {
      tbb::task_arena gone(1);
      gone.execute([&] { run_all(group, done); });
    }
    group.wait();
    ASSERT_EQ(done, tasks);
  }
}

/// The thread's own arena: on a machine of one CPU it has one thread, too.
TEST(tasks_left, by_a_thread_that_has_ended) {
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> done{0};
    tbb::task_group group;
    std::thread([&] { run_all(group, done); }).join();
    group.wait();
    ASSERT_EQ(done, tasks);
  }
}

}  // namespace
