// Deferred tasks that depend on each other: a successor runs once, after all its predecessors, whatever state those are
// in when the order is set, and after whoever received a predecessor's completion.
#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1
#include <gtest/gtest.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "unit/common/await.hpp"

namespace {

using homing::testing::await;
using homing::testing::comes_true;

using tbb::task_completion_handle;
using tbb::task_group;
using tbb::task_handle;

struct round_thrown {};

TEST(task_order, a_task_without_predecessors_is_a_plain_one) {
  task_group group;
  std::atomic<int> runs{0};
  task_handle task = group.defer([&] { ++runs; });
  const task_completion_handle kept = task;
  group.run(std::move(task));
  EXPECT_EQ(group.wait(), tbb::complete);
  EXPECT_EQ(runs, 1);
}

/// The order of submission is free: all that a task may not precede is its predecessors' end.
TEST(task_order, holds_whichever_is_submitted_first) {
  for (const bool successor_first : {true, false}) {
    task_group group;
    std::atomic<int> step{0};
    task_handle first = group.defer([&] { EXPECT_EQ(step++, 0); });
    task_handle second = group.defer([&] { EXPECT_EQ(step++, 1); });
    task_group::set_task_order(first, second);
    group.run(std::move(successor_first ? second : first));
    group.run(std::move(successor_first ? first : second));
    EXPECT_EQ(group.wait(), tbb::complete);
    EXPECT_EQ(step, 2);
  }
}

TEST(task_order, a_successor_waits_for_all_predecessors_and_a_predecessor_frees_all_successors) {
  constexpr int width = 50;
  for (int round = 0; round < 100; ++round) {
    task_group group;
    std::atomic<int> before{0};
    std::atomic<int> after{0};
    std::vector<task_handle> predecessors;
    std::vector<task_handle> successors;
    for (int i = 0; i < width; ++i) {
      predecessors.push_back(group.defer([&] { ++before; }));
      successors.push_back(group.defer([&] {
        EXPECT_EQ(before, width);
        ++after;
      }));
    }
    for (auto& predecessor : predecessors) {
      for (auto& successor : successors) {
        task_group::set_task_order(predecessor, successor);
      }
    }
    for (int i = 0; i < width; ++i) {
      group.run(std::move(successors[i]));
      group.run(std::move(predecessors[i]));
    }
    EXPECT_EQ(group.wait(), tbb::complete);
    EXPECT_EQ(after, width);
  }
}

TEST(task_order, a_predecessor_may_be_submitted_running_or_over) {
  task_group group;
  std::atomic<int> state{0};  // 1: the predecessor runs, 2: it may end, 3: it has ended
  task_handle first = group.defer([&] {
    state = 1;
    await("the order of the running task", [&] { return state == 2; });
    state = 3;
  });
  task_completion_handle predecessor = first;
  std::atomic<int> runs{0};
  const auto add_successor = [&] {
    task_handle successor = group.defer([&] {
      EXPECT_EQ(state, 3);
      ++runs;
    });
    task_group::set_task_order(predecessor, successor);
    group.run(std::move(successor));
  };
  add_successor();
  tbb::task_arena arena(3, 1);
  arena.enqueue(std::move(first));
  add_successor();
  await("the predecessor", [&] { return state == 1; });
  add_successor();
  EXPECT_EQ(runs, 0);
  state = 2;
  await("the successors of a task that has ended", [&] { return runs == 3; });
  add_successor();  // over: the successor does not wait
  EXPECT_EQ(group.wait(), tbb::complete);
  EXPECT_EQ(runs, 4);
}

/// A successor in another arena than its predecessor: it is enqueued there by whoever ends the last predecessor.
TEST(task_order, holds_for_tasks_that_are_enqueued_in_arenas) {
  tbb::task_arena one(2);
  tbb::task_arena other(2);
  for (int round = 0; round < 1000; ++round) {
    task_group group;
    std::atomic<int> step{0};
    task_handle first = group.defer([&] { EXPECT_EQ(step++, 0); });
    task_handle second = group.defer([&] { EXPECT_EQ(step++, 1); });
    task_handle third = group.defer([&] { EXPECT_EQ(step++, 2); });
    task_group::set_task_order(first, second);
    task_group::set_task_order(second, third);
    one.enqueue(std::move(third));
    other.enqueue(std::move(second));
    one.execute([&] { tbb::this_task_arena::enqueue(std::move(first)); });
    EXPECT_EQ(one.wait_for(group), tbb::complete);
    EXPECT_EQ(step, 3);
  }
}

/// Several threads set orders while others run the predecessors.
TEST(task_order, is_set_while_predecessors_end) {
  constexpr int setters = 3;
  for (int round = 0; round < 600; ++round) {
    task_group group;
    std::atomic<bool> predecessor_over{false};
    std::atomic<int> ready{0};
    std::atomic<int> runs{0};
    task_handle first = group.defer([&] { predecessor_over = true; });
    task_completion_handle predecessor = first;
    std::vector<std::thread> threads;
    for (int i = 0; i < setters; ++i) {
      threads.emplace_back([&, i] {
        task_completion_handle mine = predecessor;
        task_handle successor = group.defer([&] {
          EXPECT_TRUE(predecessor_over);
          ++runs;
        });
        ++ready;
        await("all setters", [&] { return ready == setters + 1; });
        for (int pause = 0; pause < (round + i) % 8; ++pause) {
          std::this_thread::yield();
        }
        task_group::set_task_order(mine, successor);
        group.run(std::move(successor));
      });
    }
    ++ready;
    await("all setters", [&] { return ready == setters + 1; });
    group.run(std::move(first));
    for (auto& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(group.wait(), tbb::complete);
    ASSERT_EQ(runs, setters);
  }
}

/// A wavefront: each cell after its neighbours to the left and above, set before anything runs.
TEST(task_order, makes_a_wavefront) {
  constexpr std::size_t side = 60;
  for (int round = 0; round < 5; ++round) {
    task_group group;
    std::vector<std::atomic<int>> value(side * side);
    std::vector<task_handle> cell;
    for (std::size_t at = 0; at < side * side; ++at) {
      cell.push_back(group.defer([&value, at] {
        const int left = at % side == 0 ? 0 : value[at - 1].load();
        const int above = at < side ? 0 : value[at - side].load();
        EXPECT_TRUE((at % side == 0 || left > 0) && (at < side || above > 0));
        value[at] = std::max(left, above) + 1;
      }));
    }
    for (std::size_t at = 0; at < side * side; ++at) {
      if (at % side + 1 < side) task_group::set_task_order(cell[at], cell[at + 1]);
      if (at + side < side * side) task_group::set_task_order(cell[at], cell[at + side]);
    }
    for (std::size_t at = side * side; at-- > 0;) {
      group.run(std::move(cell[at]));
    }
    EXPECT_EQ(group.wait(), tbb::complete);
    EXPECT_EQ(value.back(), static_cast<int>(2 * side - 1));
  }
}

TEST(task_order, a_chain_of_many) {
  constexpr int length = 20'000;
  task_group group;
  std::atomic<int> step{0};
  std::vector<task_handle> chain;
  for (int i = 0; i < length; ++i) {
    chain.push_back(group.defer([&step, i] { EXPECT_EQ(step++, i); }));
    if (i > 0) task_group::set_task_order(chain[i - 1], chain[i]);
  }
  for (auto& task : chain) {
    group.run(std::move(task));
  }
  EXPECT_EQ(group.wait(), tbb::complete);
  EXPECT_EQ(step, length);
}

/// A task that splits hands its completion to the join of its halves; whoever waits for it waits for the join.
long sum(task_group& group, std::size_t begin, std::size_t end, std::atomic<int>& joins) {
  struct node {
    long left = 0, right = 0;
  };
  struct summing {
    task_group& group;
    std::atomic<int>& joins;
    void operator()(std::size_t from, std::size_t to, long& result) const {
      if (to - from <= 4) {
        for (std::size_t i = from; i < to; ++i) result += static_cast<long>(i);
        return;
      }
      auto parts = std::make_shared<node>();
      const std::size_t middle = from + (to - from) / 2;
      const summing self = *this;
      task_handle left = group.defer([=] { self(from, middle, parts->left); });
      task_handle right = group.defer([=] { self(middle, to, parts->right); });
      task_handle join = group.defer([=, &result] {
        result = parts->left + parts->right;
        ++self.joins;
      });
      task_group::set_task_order(left, join);
      task_group::set_task_order(right, join);
      task_group::transfer_this_task_completion_to(join);
      group.run(std::move(left));
      group.run(std::move(right));
      group.run(std::move(join));
    }
  };
  long result = 0;
  const summing body{group, joins};
  task_handle root = group.defer([&, body] { body(begin, end, result); });
  task_handle last = group.defer([&] { EXPECT_EQ(result, static_cast<long>((end - begin) * (begin + end - 1) / 2)); });
  task_group::set_task_order(root, last);
  group.run(std::move(last));
  EXPECT_EQ(group.run_and_wait_for_task(std::move(root)), tbb::task_complete);
  EXPECT_EQ(group.wait(), tbb::complete);  // for `last`, too
  return result;
}

TEST(task_order, completion_passes_to_the_join_of_what_a_task_split_into) {
  for (std::size_t size = 1; size < 3000; size = size * 2 + 1) {
    task_group group;
    std::atomic<int> joins{0};
    EXPECT_EQ(sum(group, 0, size, joins), static_cast<long>(size * (size - 1) / 2));
    EXPECT_EQ(group.wait(), tbb::complete);
    EXPECT_EQ(joins > 0, size > 4);
  }
}

TEST(task_order, completion_passes_on_while_successors_are_added) {
  for (int round = 0; round < 600; ++round) {
    task_group group;
    std::atomic<bool> receiver_over{false};
    std::atomic<int> ready{0};
    std::atomic<int> runs{0};
    task_handle giver = group.defer([&] {
      task_handle receiver = group.defer([&] { receiver_over = true; });
      task_completion_handle watched = receiver;
      task_group::transfer_this_task_completion_to(receiver);
      group.run(std::move(receiver));
    });
    task_completion_handle predecessor = giver;
    const auto add_successor = [&] {
      task_handle successor = group.defer([&] {
        EXPECT_TRUE(receiver_over);
        ++runs;
      });
      task_group::set_task_order(predecessor, successor);
      group.run(std::move(successor));
    };
    add_successor();
    std::thread adder([&] {
      ++ready;
      await("the round", [&] { return ready == 2; });
      add_successor();
      add_successor();
    });
    ++ready;
    await("the round", [&] { return ready == 2; });
    group.run(std::move(giver));
    adder.join();
    add_successor();
    EXPECT_EQ(group.wait(), tbb::complete);
    ASSERT_EQ(runs, 4);
  }
}

/// Cancelled predecessors free their successors, which are cancelled in turn: nobody waits for ever.
TEST(task_order, cancellation_reaches_successors) {
  for (int round = 0; round < 500; ++round) {
    task_group group;
    std::atomic<int> runs{0};
    std::deque<task_handle> chain;
    for (int i = 0; i < 20; ++i) {
      chain.push_back(group.defer([&, i] {
        ++runs;
        if (i == 5) group.cancel();
      }));
      if (i > 0) task_group::set_task_order(chain[i - 1], chain[i]);
    }
    for (auto& task : chain) {
      group.run(std::move(task));
    }
    EXPECT_EQ(group.wait(), tbb::canceled);
    ASSERT_EQ(runs, 6);
  }
}

TEST(task_order, an_exception_cancels_successors_and_reaches_the_waiter) {
  for (int round = 0; round < 200; ++round) {
    task_group group;
    std::atomic<bool> successor_ran{false};
    task_handle thrower = group.defer([] { throw round_thrown{}; });
    task_handle successor = group.defer([&] { successor_ran = true; });
    task_group::set_task_order(thrower, successor);
    group.run(std::move(successor));
    group.run(std::move(thrower));
    EXPECT_THROW(group.wait(), round_thrown);
    EXPECT_FALSE(successor_ran);
    EXPECT_EQ(group.run_and_wait([] {}), tbb::complete) << "the group can be used again";
  }
}

/// A task may return a handle, which is run next; one that still has predecessors is run after those.
TEST(task_order, a_returned_task_with_predecessors_runs_after_them) {
  for (int round = 0; round < 500; ++round) {
    task_group group;
    std::atomic<int> step{0};
    std::atomic<bool> returned{false};
    task_handle predecessor = group.defer([&] { EXPECT_EQ(step.exchange(1), 0); });
    task_handle next = group.defer([&] { EXPECT_EQ(step.exchange(2), 1); });
    task_group::set_task_order(predecessor, next);
    auto held = std::make_shared<task_handle>(std::move(next));
    group.run([held, &returned]() -> task_handle {
      returned = true;
      return std::move(*held);
    });
    if (round % 2 == 0) {
      // With one thread only the wait would run it: not to be waited for there.
      static_cast<void>(tbb::info::default_concurrency() > 1 && comes_true([&] { return returned.load(); }));
    }
    group.run(std::move(predecessor));
    EXPECT_EQ(group.wait(), tbb::complete);
    ASSERT_EQ(step, 2);
  }
}

}  // namespace
