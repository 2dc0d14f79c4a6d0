// A task that is left in an arena which nobody can enter any more is done all the same: whoever waits for it may be
// elsewhere. oneTBB's own library leaves those of an arena of one thread undone, and the waiter waits for ever.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <thread>

#include "unit/common/await.hpp"

namespace {

using homing::testing::await;

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

/// Nobody comes to an arena all of whose slots are application threads'. It takes no worker from others.
TEST(tasks_left, in_an_arena_without_a_workers_slot_keep_no_worker_from_others) {
  static std::atomic<int> done{0};  // and the groups stay: those tasks are run when the library ends, or never
  for (const std::size_t threads : {1U, 2U}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    auto& group = *new tbb::task_group;
    {
      tbb::task_arena gone(2, 2);
      gone.execute([&] { group.run([] { ++done; }); });
    }
    tbb::task_arena other(2, 1);
    std::atomic<bool> has_run{false};
    other.enqueue([&] { has_run = true; });
    await("what was enqueued elsewhere", [&] { return has_run.load(); });
  }
}

}  // namespace
