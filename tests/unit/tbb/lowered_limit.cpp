// A limit that has been lowered to one thread holds at once: workers that still look for work take part in nothing, and
// don't disturb the order of what the one thread does. oneTBB doesn't promise the first, and its own library lets a
// worker in now and then.
#include <gtest/gtest.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <thread>

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

}  // namespace
