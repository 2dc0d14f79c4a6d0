// Handles: a task_handle owns a task that nobody has submitted, a task_completion_handle refers to one whatever becomes
// of it; and waiting for a single task of a group.
#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "unit/common/await.hpp"

namespace {

using homing::testing::await;

using tbb::task_completion_handle;
using tbb::task_group;
using tbb::task_handle;

struct thrown {};

TEST(task_handle, owns_its_task_until_it_is_submitted) {
  task_group group;
  task_handle none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(none == nullptr && nullptr == none);
  bool ran = false;
  task_handle task = group.defer([&] { ran = true; });
  EXPECT_TRUE(task && task != nullptr && nullptr != task);
  none = std::move(task);
  EXPECT_FALSE(task);
  EXPECT_FALSE(ran);
  EXPECT_EQ(group.run_and_wait(std::move(none)), tbb::complete);
  EXPECT_FALSE(none);
  EXPECT_TRUE(ran);
}

/// Its body is destroyed, never called, and nobody waits for it any longer.
TEST(task_handle, destroyed_without_submission_ends_the_task) {
  task_group group;
  auto captured = std::make_shared<int>(0);
  const std::weak_ptr<int> alive = captured;
  {
    const task_handle task = group.defer([captured = std::move(captured)] { FAIL() << "nobody has submitted it"; });
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(group.wait(), tbb::complete);
}

TEST(task_handle, a_deferred_task_is_waited_for) {
  task_group group;
  std::atomic<bool> waiting{false};
  std::atomic<bool> waited{false};
  task_handle task = group.defer([] {});
  std::thread waiter([&] {
    waiting = true;
    group.wait();
    waited = true;
  });
  await("the waiter", [&] { return waiting.load(); });
  for (int i = 0; i < 100; ++i) {
    std::this_thread::yield();
    EXPECT_FALSE(waited);
  }
  { const task_handle dropped = std::move(task); }
  await("the end of the wait for a task that was dropped", [&] { return waited.load(); });
  waiter.join();
}

TEST(task_handle, goes_into_an_arena_with_its_group) {
  tbb::task_arena arena(2);
  for (int round = 0; round < 1000; ++round) {
    task_group group;
    std::atomic<int> runs{0};
    arena.enqueue(group.defer([&] { ++runs; }));
    arena.enqueue(
        [&] {
          ++runs;
          tbb::this_task_arena::enqueue([&] { ++runs; }, group);
          tbb::this_task_arena::enqueue(group.defer([&] { ++runs; }));
        },
        group);
    EXPECT_EQ(arena.wait_for(group), tbb::complete);
    ASSERT_EQ(runs, 4);
  }
}

TEST(task_handle, wait_for_says_whether_the_group_was_cancelled_and_rethrows) {
  tbb::task_arena arena(2);
  task_group group;
  group.cancel();
  arena.enqueue([] { FAIL() << "cancelled"; }, group);
  EXPECT_EQ(arena.wait_for(group), tbb::canceled);
  arena.enqueue([] { throw thrown{}; }, group);
  EXPECT_THROW(arena.wait_for(group), thrown);
  EXPECT_EQ(arena.wait_for(group), tbb::complete);
}

/// A returned handle is the next task; an empty one is none.
TEST(task_handle, returned_by_a_task_is_run_next) {
  task_group group;
  std::atomic<int> runs{0};
  struct countdown {
    task_group& group;
    std::atomic<int>& runs;
    int left;
    task_handle operator()() const {
      ++runs;
      return left == 0 ? task_handle{} : group.defer(countdown{group, runs, left - 1});
    }
  };
  group.run(countdown{group, runs, 999});
  EXPECT_EQ(group.wait(), tbb::complete);
  EXPECT_EQ(group.run_and_wait(countdown{group, runs, 999}), tbb::complete);
  EXPECT_EQ(group.run_and_wait(group.defer(countdown{group, runs, 999})), tbb::complete);
  EXPECT_EQ(runs, 3000);
}

TEST(task_handle, current_task_is_known_inside_only) {
  EXPECT_FALSE(tbb::is_inside_task());
  task_group group;
  EXPECT_EQ(group.run_and_wait([] { EXPECT_TRUE(tbb::is_inside_task()); }), tbb::complete);
  EXPECT_FALSE(tbb::is_inside_task());
}

TEST(task_completion_handle, refers_to_the_same_task_by_every_copy) {
  task_group group;
  const task_completion_handle none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(none == nullptr && nullptr == none);
  task_handle first = group.defer([] {});
  task_handle second = group.defer([] {});
  task_completion_handle a = first;
  task_completion_handle b(first);
  EXPECT_TRUE(a == b && a != none && a != nullptr);
  task_completion_handle c = b;
  EXPECT_TRUE(c == a);
  task_completion_handle d = std::move(b);
  EXPECT_TRUE(d == a && !b);
  c = second;
  EXPECT_TRUE(c != a);
  c = d;
  EXPECT_TRUE(c == a);
  c = std::move(d);
  EXPECT_TRUE(c == a && !d);
  c = none;
  EXPECT_FALSE(c);
  group.run(std::move(first));
  group.run(std::move(second));
  EXPECT_EQ(group.wait(), tbb::complete);
  EXPECT_TRUE(a) << "still, when the task is over";
  EXPECT_EQ(group.get_status_of(a), tbb::task_complete);
}

/// It outlives the group, and the state it refers to is freed with the last copy (which AddressSanitizer looks after).
TEST(task_completion_handle, outlives_task_and_group) {
  task_completion_handle kept;
  {
    task_group group;
    task_handle task = group.defer([] {});
    kept = task;
    group.run(std::move(task));
    group.wait();
  }
  EXPECT_TRUE(kept);
  task_group other;
  EXPECT_EQ(other.get_status_of(kept), tbb::task_complete);
  EXPECT_EQ(other.wait_for_task(kept), tbb::task_complete);
}

TEST(wait_for_task, status_follows_the_task) {
  task_group group;
  std::atomic<int> state{0};
  tbb::task_arena arena(2);
  task_handle task = group.defer([&] {
    state = 1;
    await("the look at the status", [&] { return state == 2; });
  });
  task_completion_handle watched = task;
  EXPECT_EQ(group.get_status_of(watched), tbb::not_complete) << "not submitted";
  arena.enqueue(std::move(task));
  EXPECT_EQ(group.get_status_of(watched), tbb::not_complete) << "submitted";
  await("the task", [&] { return state == 1; });
  EXPECT_EQ(group.get_status_of(watched), tbb::not_complete) << "running";
  state = 2;
  EXPECT_EQ(group.wait_for_task(watched), tbb::task_complete);
  EXPECT_EQ(group.get_status_of(watched), tbb::task_complete);
  EXPECT_EQ(group.wait(), tbb::complete);
}

TEST(wait_for_task, ends_while_others_of_the_group_go_on) {
  tbb::task_arena arena(3);
  task_group group;
  std::atomic<bool> begun{false};
  std::atomic<bool> may_end{false};
  arena.enqueue(
      [&] {
        begun = true;
        await("the waiter for another task", [&] { return may_end.load(); });
      },
      group);
  await("a task that lasts", [&] { return begun.load(); });
  for (int round = 0; round < 1000; ++round) {
    std::atomic<bool> ran{false};
    EXPECT_EQ(group.run_and_wait_for_task(group.defer([&] { ran = true; })), tbb::task_complete);
    EXPECT_TRUE(ran.exchange(false));
    task_handle task = group.defer([&] { ran = true; });
    task_completion_handle watched = task;
    group.run(std::move(task));
    EXPECT_EQ(group.wait_for_task(watched), tbb::task_complete);
    EXPECT_TRUE(ran.exchange(false));
    task = group.defer([&] { ran = true; });
    watched = task;
    arena.enqueue(std::move(task));
    EXPECT_EQ(arena.wait_for(watched), tbb::task_complete);
    ASSERT_TRUE(ran);
  }
  may_end = true;
  EXPECT_EQ(group.wait(), tbb::complete);
}

TEST(wait_for_task, many_threads_wait_for_one_task) {
  constexpr int waiters = 6;
  for (int round = 0; round < 300; ++round) {
    task_group group;
    std::atomic<bool> ran{false};
    std::atomic<int> ready{0};
    task_handle task = group.defer([&] { ran = true; });
    const task_completion_handle watched = task;
    std::vector<std::thread> threads;
    for (int i = 0; i < waiters; ++i) {
      threads.emplace_back([&] {
        task_completion_handle mine = watched;
        ++ready;
        EXPECT_EQ(group.wait_for_task(mine), tbb::task_complete);
        EXPECT_TRUE(ran);
      });
    }
    if (round % 2 == 0) await("all waiters", [&] { return ready == waiters; });
    group.run(std::move(task));
    for (auto& thread : threads) {
      thread.join();
    }
    ASSERT_EQ(group.wait(), tbb::complete);
  }
}

TEST(wait_for_task, a_task_that_was_cancelled_says_so) {
  task_group group;
  task_handle task = group.defer([] { FAIL() << "cancelled"; });
  task_completion_handle watched = task;
  group.cancel();
  group.run(std::move(task));
  EXPECT_EQ(group.wait_for_task(watched), tbb::canceled);
  EXPECT_EQ(group.get_status_of(watched), tbb::canceled);
  EXPECT_EQ(group.run_and_wait_for_task(group.defer([] { FAIL() << "cancelled"; })), tbb::canceled);
  EXPECT_EQ(group.wait(), tbb::canceled);
  bool ran = false;
  EXPECT_EQ(group.run_and_wait_for_task(group.defer([&] { ran = true; })), tbb::task_complete) << "wait() has reset it";
  EXPECT_TRUE(ran);
}

TEST(wait_for_task, a_task_with_predecessors_runs_them_first) {
  for (int round = 0; round < 300; ++round) {
    task_group group;
    std::atomic<int> before{0};
    task_handle last = group.defer([&] { EXPECT_EQ(before, 10); });
    std::vector<task_handle> predecessors;
    for (int i = 0; i < 10; ++i) {
      predecessors.push_back(group.defer([&] { ++before; }));
      task_group::set_task_order(predecessors.back(), last);
    }
    for (auto& predecessor : predecessors) {
      group.run(std::move(predecessor));
    }
    ASSERT_EQ(group.run_and_wait_for_task(std::move(last)), tbb::task_complete);
    ASSERT_EQ(group.wait(), tbb::complete);
  }
}

TEST(wait_for_task, waits_for_whoever_received_the_completion) {
  for (int round = 0; round < 1000; ++round) {
    task_group group;
    std::atomic<bool> receiver_ran{false};
    task_handle giver = group.defer([&] {
      task_handle receiver = group.defer([&] { receiver_ran = true; });
      task_group::transfer_this_task_completion_to(receiver);
      group.run(std::move(receiver));
    });
    task_completion_handle watched = giver;
    if (round % 2 == 0) {
      ASSERT_EQ(group.run_and_wait_for_task(std::move(giver)), tbb::task_complete);
    } else {
      group.run(std::move(giver));
      ASSERT_EQ(group.wait_for_task(watched), tbb::task_complete);
    }
    ASSERT_TRUE(receiver_ran);
    ASSERT_EQ(group.get_status_of(watched), tbb::task_complete);
    ASSERT_EQ(group.wait(), tbb::complete);
  }
}

/// Nested: a task of the group waits for another one, as a computation that needs a part's result does.
TEST(wait_for_task, within_a_task_of_the_same_group) {
  task_group group;
  struct fibonacci {
    task_group& group;
    int n;
    long& result;
    void operator()() const {
      if (n < 2) {
        result = n;
        return;
      }
      long one = 0;
      long two = 0;
      task_handle left = group.defer(fibonacci{group, n - 1, one});
      task_completion_handle watched = left;
      group.run(std::move(left));
      EXPECT_EQ(group.run_and_wait_for_task(group.defer(fibonacci{group, n - 2, two})), tbb::task_complete);
      EXPECT_EQ(group.wait_for_task(watched), tbb::task_complete);
      result = one + two;
    }
  };
  long result = 0;
  EXPECT_EQ(group.run_and_wait(group.defer(fibonacci{group, 16, result})), tbb::complete);
  EXPECT_EQ(result, 987);
}

}  // namespace
