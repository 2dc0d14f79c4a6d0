// A limit that has been lowered holds at once: workers that still look for work take part in nothing, and don't disturb
// the order of what the threads do that are left. oneTBB doesn't promise the first, and its own library lets a worker
// in now and then.
#include <gtest/gtest.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <thread>

#include "unit/common/await.hpp"

namespace {

constexpr int rounds = 20'000;

/// Workers are awake after this.
void call_workers() {
  tbb::parallel_for(0, 64, [](int) {});
}

tbb::global_control one_thread() { return tbb::global_control(tbb::global_control::max_allowed_parallelism, 1); }

TEST(lowered_limit, keeps_out_workers_that_look_for_work) {
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < rounds; ++round) {
    call_workers();
    const tbb::global_control limit = one_thread();
    std::atomic<int> elsewhere{0};
    tbb::task_group group;
    for (int i = 0; i < 4; ++i) {
      group.run([&] { elsewhere += std::this_thread::get_id() != caller ? 1 : 0; });
    }
    group.wait();
    ASSERT_EQ(elsewhere, 0) << "round " << round;
  }
}

TEST(lowered_limit, lets_the_node_of_high_priority_run_first) {
  using namespace tbb::flow;
  for (int round = 0; round < rounds; ++round) {
    call_workers();
    const tbb::global_control limit = one_thread();
    std::atomic<int> first{0};
    const auto come = [&](int who) {
      int nobody = 0;
      first.compare_exchange_strong(nobody, who);
    };
    graph g;
    continue_node<continue_msg> source(g, [](const continue_msg& m) { return m; });
    continue_node<continue_msg> high(
        g,
        [&](const continue_msg& m) {
          come(2);
          return m;
        },
        node_priority_t(1));
    continue_node<continue_msg> low(g, [&](const continue_msg& m) {
      come(1);
      return m;
    });
    make_edge(source, low);
    make_edge(source, high);
    source.try_put(continue_msg());
    g.wait_for_all();
    ASSERT_EQ(first, 2) << "round " << round;
  }
}

/// The caller takes the newest task, and a thief the oldest, for which the newest one's loop waits. A worker that the
/// limit sent away used to take the oldest along, into a deque that nobody looked into: both threads had pieces of the
/// loop.
TEST(lowered_limit, moves_no_task_out_of_its_order) {
  const tbb::global_control many(tbb::global_control::max_allowed_parallelism, 8);
  tbb::task_arena(8).execute([] {
    for (int round = 0; round < rounds / 10; ++round) {
      std::atomic<int> there{0};
      tbb::parallel_for(
          0, 8,
          [&](int) {
            for (++there; there < 8;) std::this_thread::yield();
          },
          tbb::simple_partitioner());
      for (int i = 0; i < round % 40; ++i) std::this_thread::yield();  // workers look for work, or are about to leave
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
      std::atomic<bool> begun{false};
      tbb::task_group group;
      group.run([&] { begun = true; });
      std::this_thread::yield();
      group.run([&] {
        tbb::parallel_for(
            0, 8, [&](int) { homing::testing::await("the task that was spawned first", [&] { return begun.load(); }); },
            tbb::simple_partitioner());
      });
      group.wait();
      ASSERT_TRUE(begun) << "round " << round;
    }
  });
}

}  // namespace
