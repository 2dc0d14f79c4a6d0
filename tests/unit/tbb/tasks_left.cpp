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

/// Whatever `run_and_go` does with its tasks' group, whoever waits sees all of them done.
template <typename Function>
void expect_done(Function&& run_and_go) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> done{0};
    tbb::task_group group;
    run_and_go([&] {
      for (int i = 0; i < tasks; ++i) {
        group.run([&] { ++done; });
      }
    });
    group.wait();
    ASSERT_EQ(done, tasks);
  }
}

void expect_done_of_arenas(tbb::task_arena::priority priority) {
  expect_done([&](auto&& run_all) {
    tbb::task_arena gone(1, 1, priority);
    gone.execute(run_all);
  });
}

TEST(tasks_left, in_an_arena_of_one_thread) {
  expect_done_of_arenas(tbb::task_arena::priority::low);
  expect_done_of_arenas(tbb::task_arena::priority::high);
}

TEST(tasks_left, in_an_arena_of_one_thread_where_no_worker_is_allowed) {
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  expect_done_of_arenas(tbb::task_arena::priority::normal);
}

/// The thread's own arena: on a machine of one CPU it has one thread, too.
TEST(tasks_left, by_a_thread_that_has_ended) {
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  expect_done([](auto&& run_all) { std::thread(run_all).join(); });
}

}  // namespace
