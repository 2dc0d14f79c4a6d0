// Forks whose stack is left in a branch: it goes on on another thread after tbb::task::suspend(), or in the child of a
// fork(), where the other threads are gone. Also built with Clang, where that is there; and on stock oneTBB.
#include <gtest/gtest.h>
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <homing/fork_join.hpp>

#include <atomic>
#include <thread>

#include "unit/common/forked_child.hpp"
#include "unit/common/forks.hpp"

namespace {

using homing::fork_join;
using homing::testing::await;
using homing::testing::fib;
using homing::testing::on_stock;
using homing::testing::parallelism;
using homing::testing::with_helpers;

// ---- suspended

/// Each branch suspends, and whoever resumes it lets it go on on whatever thread.
long suspended_tree(int depth) {
  if (depth == 0) {
    tbb::task::suspend(
        [](tbb::task::suspend_point point) { std::thread([point] { tbb::task::resume(point); }).detach(); });
    return 1;
  }
  const auto [left, right] =
      fork_join([=] { return suspended_tree(depth - 1); }, [=] { return suspended_tree(depth - 1); });
  return left + right;
}

TEST(fork_join, branches_may_suspend) {
  with_helpers([] {
    for (int round = 0; round < 10; ++round) ASSERT_EQ(suspended_tree(6), 64);
  });
}

TEST(fork_join, a_suspended_branch_leaves_the_others_to_others) {
  with_helpers([] {
    for (int round = 0; round < 50; ++round) {
      std::atomic<bool> ran{false};
      tbb::task::suspend_point point{};
      fork_join(
          [&] {
            tbb::task::suspend([&](tbb::task::suspend_point p) {
              point = p;
              std::thread([&ran, p] {
                await("the branch below", [&] { return ran.load(); });
                tbb::task::resume(p);
              }).detach();
            });
          },
          [&] { ran = true; });
    }
  });
}

/// Resumes what is suspended, on a thread that runs no tasks.
class resumer {
 public:
  ~resumer() {
    asleep_.push(nullptr);
    thread_.join();
  }
  void suspend() {
    tbb::task::suspend([this](tbb::task::suspend_point point) { asleep_.push(point); });
  }

 private:
  void resume_all() {
    for (tbb::task::suspend_point point{}; asleep_.pop(point), point != nullptr;) tbb::task::resume(point);
  }
  tbb::concurrent_bounded_queue<tbb::task::suspend_point> asleep_;
  std::thread thread_{[this] { resume_all(); }};
};

/// Each round begins on the thread where the one before has ended: its forks go into that one's lane. A compiler that
/// keeps a thread-local variable's address within a function puts them into the lane of a thread that was left. Clang
/// did, and this crashed.
TEST(fork_join, each_fork_of_a_function_is_on_the_thread_that_it_is_on_then) {
  resumer later;
  constexpr long tasks = 24;
  constexpr long rounds = 1000;
  std::atomic<long> sum{0};
  std::atomic<long> ran{0};
  with_helpers([&] {
    const auto forks_in_a_row = [&] {
      for (long i = 0; i < rounds; ++i) {
        const auto [a, b, c] = fork_join(
            [&later] {
              later.suspend();
              return 1L;
            },
            [&ran] { return ++ran, 2L; }, [&ran] { return ++ran, 3L; });
        sum += a + b + c;
      }
    };
    tbb::task_group group;
    for (long i = 0; i < tasks; ++i) group.run(forks_in_a_row);
    group.wait();
  });
  EXPECT_EQ(sum.load(), 6 * tasks * rounds);
  EXPECT_EQ(ran.load(), 2 * tasks * rounds);
}

// ---- in the child of a fork()

bool loops_work() {
  std::atomic<int> ran{0};
  tbb::parallel_for(0, 100, [&](int) { ++ran; });
  return ran == 100;
}

/// Parent and child both come to the join of a fork whose first branch forks the process.
template <class Before>
void fork_in_a_branch(Before&& before) {
  pid_t child = -1;
  const auto [left, right] = fork_join(
      [&] {
        before();
        child = ::fork();
        if (child == 0) alarm(30);
        return fib(10);
      },
      [] { return fib(11); });
  if (child == 0) _exit(left + right == 144 && fib(12) == 144 && loops_work() ? 0 : 1);
  EXPECT_EQ(left + right, 144);
  EXPECT_TRUE(homing::testing::has_ended_well(child));
}

/// The thread is outside tasks, and alone: whoever runs the other branch, it is not a thread that the child lacks.
TEST(fork_join, a_child_of_a_fork_in_a_branch_joins_the_others) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  if (on_stock()) GTEST_SKIP() << "what stock oneTBB's tasks do in a child is not ours to ask";
  const parallelism one(parallelism::max_allowed_parallelism, 1);
  const auto give_all = [] { tbb::this_task_arena::isolate([] {}); };
  fork_in_a_branch([] {});
  fork_in_a_branch(give_all);
  std::thread([&] {
    fork_in_a_branch(give_all);
    fork_in_a_branch([] {});
  }).join();
}

}  // namespace
