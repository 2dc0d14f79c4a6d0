// Several threads wait for one task_group: all come back, and what its tasks threw reaches exactly one of them; also
// after a cancellation.
#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"

namespace {

using homing::testing::await;

using tbb::task_group;

constexpr int waiters = 6;

struct results {
  std::atomic<int> caught{0};
  std::atomic<int> wrong{0};
  std::atomic<int> completed{0};
  std::atomic<int> canceled{0};
};

void wait_and_note(task_group& group, results& seen) {
  try {
    (group.wait() == tbb::complete ? seen.completed : seen.canceled)++;
  } catch (const std::runtime_error& error) {
    ++seen.caught;
    seen.wrong += std::string(error.what()).starts_with("task ") ? 0 : 1;
  } catch (...) {
    ++seen.wrong;
  }
}

/// `inside` runs when all waiters are about to wait.
template <typename Inside>
void wait_together(task_group& group, results& seen, Inside&& inside) {
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&] {
      ++ready;
      await("all waiters", [&] { return ready == waiters + 1; });
      wait_and_note(group, seen);
    });
  }
  ++ready;
  await("all waiters", [&] { return ready == waiters + 1; });
  inside();
  for (auto& thread : threads) {
    thread.join();
  }
}

TEST(group_waiters, all_come_back) {
  for (int round = 0; round < 500; ++round) {
    task_group group;
    results seen;
    std::atomic<int> runs{0};
    for (int i = 0; i < 20; ++i) {
      group.run([&] { ++runs; });
    }
    wait_together(group, seen, [] {});
    ASSERT_EQ(runs, 20);
    ASSERT_EQ(seen.completed, waiters);
  }
}

/// Held until the waiters wait, so that all of them wait for the same tasks and the same exception.
TEST(group_waiters, exactly_one_gets_the_exception_of_a_task_that_all_waited_for) {
  tbb::task_arena arena(2);
  for (int round = 0; round < 500; ++round) {
    task_group group;
    results seen;
    std::atomic<bool> may_throw{false};
    arena.enqueue(
        [&] {
          await("the waiters", [&] { return may_throw.load(); });
          throw std::runtime_error("task one");
        },
        group);
    wait_together(group, seen, [&] {
      for (int i = 0; i < round % 16; ++i) {
        std::this_thread::yield();
      }
      may_throw = true;
    });
    ASSERT_EQ(seen.caught, 1);
    ASSERT_EQ(seen.wrong, 0);
    ASSERT_EQ(seen.caught + seen.completed + seen.canceled, waiters);
    ASSERT_EQ(group.wait(), tbb::complete) << "nothing is left over for a later wait";
  }
}

TEST(group_waiters, no_exception_is_rethrown_twice_and_none_is_lost) {
  for (int round = 0; round < 1000; ++round) {
    task_group group;
    results seen;
    std::atomic<int> thrown{0};
    for (int i = 0; i < 4; ++i) {
      group.run([&, i] {
        ++thrown;
        throw std::runtime_error("task " + std::to_string(i));
      });
    }
    wait_together(group, seen, [] {});
    ASSERT_EQ(seen.wrong, 0);
    ASSERT_GE(seen.caught, 1);
    ASSERT_LE(seen.caught, thrown);
    ASSERT_EQ(seen.caught + seen.completed + seen.canceled, waiters);
    results later;
    wait_and_note(group, later);
    ASSERT_EQ(later.completed, 1) << "nothing is left over for a later wait";
  }
}

/// Also those that wait inside of an arena, or in a task.
TEST(group_waiters, in_arenas_and_in_tasks) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 4);
  tbb::task_arena arena(4);
  for (int round = 0; round < 300; ++round) {
    task_group group;
    results seen;
    std::atomic<int> ready{0};
    std::atomic<bool> may_throw{false};
    arena.enqueue(
        [&] {
          await("the waiters", [&] { return may_throw.load(); });
          throw std::runtime_error("task one");
        },
        group);
    std::thread in_arena([&] {
      ++ready;
      arena.execute([&] { wait_and_note(group, seen); });
    });
    std::thread in_task([&] {
      task_group outer;
      outer.run_and_wait([&] {
        ++ready;
        wait_and_note(group, seen);
      });
    });
    await("both waiters", [&] { return ready == 2; });
    may_throw = true;
    wait_and_note(group, seen);
    in_arena.join();
    in_task.join();
    ASSERT_EQ(seen.caught, 1);
    ASSERT_EQ(seen.caught + seen.completed + seen.canceled, 3);
  }
}

TEST(group_waiters, an_exception_after_a_cancellation_reaches_the_waiter) {
  for (int round = 0; round < 100; ++round) {
    task_group group;
    group.run([&] {
      group.cancel();
      throw std::runtime_error("task one");
    });
    EXPECT_THROW(group.wait(), std::runtime_error);
    ASSERT_EQ(group.run_and_wait([] {}), tbb::complete);
  }
}

TEST(group_waiters, an_exception_after_a_cancellation_from_outside_reaches_one_of_several_waiters) {
  tbb::task_arena arena(2);
  for (int round = 0; round < 300; ++round) {
    task_group group;
    results seen;
    std::atomic<bool> begun{false};
    std::atomic<bool> may_throw{false};
    arena.enqueue(
        [&] {
          begun = true;
          await("the cancellation", [&] { return may_throw.load(); });
          throw std::runtime_error("task one");
        },
        group);
    await("the task", [&] { return begun.load(); });
    wait_together(group, seen, [&] {
      group.cancel();
      may_throw = true;
    });
    ASSERT_EQ(seen.caught, 1);
    ASSERT_EQ(seen.wrong, 0);
    ASSERT_EQ(seen.caught + seen.completed + seen.canceled, waiters);
  }
}

/// The first exception is kept, the others are dropped.
TEST(group_waiters, of_several_exceptions_one_is_kept) {
  for (int round = 0; round < 300; ++round) {
    tbb::task_group_context context;
    int caught = 0;
    try {
      tbb::parallel_for(
          0, 64, [](int i) { throw std::runtime_error("task " + std::to_string(i)); }, tbb::simple_partitioner{},
          context);
    } catch (const std::runtime_error& error) {
      ++caught;
      EXPECT_TRUE(std::string(error.what()).starts_with("task "));
    }
    ASSERT_EQ(caught, 1);
    EXPECT_TRUE(context.is_group_execution_cancelled());
  }
}

/// An exception reaches a waiter for the single task, or the waiter for the group; never both, never nobody.
TEST(group_waiters, one_for_a_single_task_and_one_for_the_group_share_an_exception) {
  for (int round = 0; round < 300; ++round) {
    task_group group;
    int caught = 0;
    try {
      EXPECT_EQ(group.run_and_wait_for_task(group.defer([] { throw std::runtime_error("task one"); })), tbb::canceled);
    } catch (const std::runtime_error&) {
      ++caught;
    }
    try {
      group.wait();
    } catch (const std::runtime_error&) {
      ++caught;
    }
    ASSERT_EQ(caught, 1);
  }
}

/// Another waiter may find no task left and reset the group at the moment when the next one throws.
TEST(group_waiters, a_task_that_has_thrown_is_not_run_again) {
  if (std::getenv("HOMING_TEST_STOCK") != nullptr) {
    GTEST_SKIP() << "stock oneTBB runs some of them twice";
  }
  task_group group;
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      try {
        group.wait();
      } catch (const std::runtime_error&) {
      }
    }
  });
  int most = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::atomic<int> runs{0};
    group.run([&] {
      ++runs;
      throw std::runtime_error("task one");
    });
    try {
      group.wait();
    } catch (const std::runtime_error&) {
    }
    most = std::max(most, runs.load());
  }
  over = true;
  other.join();
  EXPECT_EQ(most, 1);  // once at least, but for those that an earlier exception cancelled
}

}  // namespace
