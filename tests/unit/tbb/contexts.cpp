// Contexts as their users see them: whose child a context becomes, and who of several waiters gets which exception.
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"

namespace {

using homing::testing::await;

/// What a task threw: who, and how often that was caught.
struct thrown_task {
  unsigned number;
};

// ---- whose child

TEST(contexts, first_used_in_an_enqueued_task_they_are_not_the_arenas_children) {
  tbb::task_arena arena(2, 1);
  std::atomic<bool> done{false};
  bool group_was_cancelled = true;
  arena.enqueue([&] {
    tbb::task_group group;
    group.run_and_wait([] {});  // bound from here on
    tbb::task::current_context()->cancel_group_execution();
    std::atomic<bool> ran{false};
    group.run_and_wait([&] { ran = true; });
    group_was_cancelled = !ran;
    done = true;
  });
  await("an enqueued task", [&] { return done.load(); });
  EXPECT_FALSE(group_was_cancelled) << "the group dies after its parent, which dies with the arena";
}

TEST(contexts, in_a_task_of_a_group_they_are_that_groups_children) {
  tbb::task_group outer;
  bool inner_was_cancelled = false;
  outer.run_and_wait([&] {
    tbb::task_group inner;
    inner.run_and_wait([] {});
    outer.cancel();
    std::atomic<bool> ran{false};
    inner.run_and_wait([&] { ran = true; });
    inner_was_cancelled = !ran;
  });
  EXPECT_TRUE(inner_was_cancelled);
}

// ---- exceptions

TEST(contexts, an_exception_after_a_cancellation_reaches_the_waiter) {
  tbb::task_group group;
  group.run([&] {
    group.cancel();
    throw thrown_task{1};
  });
  EXPECT_THROW(group.wait(), thrown_task);
  EXPECT_EQ(group.wait(), tbb::complete) << "the exception has been thrown, and the group is as new";
}

TEST(contexts, an_exception_is_thrown_once_until_the_next_one) {
  tbb::task_group_context context;
  const auto loop = [&] {
    tbb::parallel_for(
        0, 4, [](int) { throw thrown_task{1}; }, context);
  };
  EXPECT_THROW(loop(), thrown_task);
  EXPECT_NO_THROW(loop()) << "cancelled, so that nothing runs and nothing is thrown";
  context.reset();
  EXPECT_THROW(loop(), thrown_task);
}

/// Runs `wait` on several threads at once; returns for each number of a task how many caught its exception.
template <typename Wait>
std::vector<unsigned> catch_on_threads(unsigned threads, unsigned tasks, Wait&& wait) {
  std::vector<std::atomic<unsigned>> caught(tasks);
  std::barrier together(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::thread> waiters;
  for (unsigned w = 0; w < threads; ++w) {
    waiters.emplace_back([&] {
      together.arrive_and_wait();
      try {
        wait();
      } catch (const thrown_task& t) {
        ++caught.at(t.number);
      }
    });
  }
  for (std::thread& w : waiters) {
    w.join();
  }
  return {caught.begin(), caught.end()};
}

TEST(contexts, of_several_waiters_one_gets_the_exception) {
  constexpr unsigned tasks = 4;
  for (unsigned round = 0; round < 300; ++round) {
    tbb::task_group group;
    for (unsigned i = 0; i < tasks; ++i) {
      group.run([i] { throw thrown_task{i}; });
    }
    unsigned sum = 0;
    for (const unsigned times : catch_on_threads(6, tasks, [&] { group.wait(); })) {
      ASSERT_LE(times, 1U) << "one exception, thrown more than once, in round " << round;
      sum += times;
    }
    // A waiter may find the first tasks done and reset the group while others still throw: then there are more.
    ASSERT_GE(sum, 1U) << "no waiter got an exception in round " << round;
  }
}

TEST(contexts, of_loops_that_share_a_context_each_exception_ends_one) {
  constexpr unsigned loops = 4;
  for (unsigned round = 0; round < 300; ++round) {
    tbb::task_group_context context;
    std::atomic<unsigned> next{0};
    unsigned sum = 0;
    const auto loop = [&] {
      tbb::parallel_for(
          0, 2, [&](int) { throw thrown_task{next++}; }, context);
    };
    for (const unsigned times : catch_on_threads(loops, 2 * loops, loop)) {
      ASSERT_LE(times, 1U) << "one exception, thrown more than once, in round " << round;
      sum += times;
    }
    ASSERT_GE(sum, 1U) << "nobody got an exception in round " << round;
  }
}

}  // namespace
