// [S19] Who begins a burst of work calls as many workers as the last burst had use for, however few tasks there are
// yet; docs/protocols/sleep.md. Method: bursts of known sizes, all workers asleep before each; the kernel says who
// sleeps, the library's own counters how many it woke.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "runtime/thread/thread_state.hpp"
#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

namespace observe = homing::observe;
namespace scheduler = homing::scheduler;
namespace sync = homing::sync;
using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::threads;

std::uint64_t wakeups() {
  std::uint64_t sum = 0;
  for (const scheduler::thread_state* t = scheduler::all_thread_states(); t != nullptr; t = t->next_record) {
    sum += t->counters.read(observe::event::wakeup);
  }
  return sum;
}

class bursts {
 public:
  explicit bursts(int workers) : workers_(workers), arena_(workers + 1) {}

  /// Runs so many tasks, each of which waits for all others, and returns how many workers were woken for them.
  std::uint64_t run(int tasks) {
    const std::uint64_t before = wakeups();
    sync::atomic<int> running{0};
    arena_.execute([&] {
      tbb::task_group group;
      for (int i = 0; i < tasks; ++i) {
        group.run([&] {
          running.fetch_add(1, sync::seq_cst);
          await("a burst's tasks at once", [&] { return running.load(sync::seq_cst) == tasks; });
        });
      }
      group.wait();
    });
    await("rest", [&] { return homing::testing::workers_rest(workers_); });
    return wakeups() - before;
  }

 private:
  const int workers_;
  tbb::task_arena arena_;
};

class bursts_of_four : public ::testing::TestWithParam<const char*> {};

TEST_P(bursts_of_four, call_as_many_as_the_last_one_had_use_for) {
  in_own_process(on_machine(GetParam()), [] {
    const auto limit = threads(4);
    bursts some(3);
    for (int round = 0; round < 20; ++round) {
      some.run(4);
      EXPECT_GE(some.run(1), 3U) << "one task, after a burst for all threads";
      EXPECT_LE(some.run(1), 1U) << "one task, after a burst of one";
    }
  });
}

INSTANTIATE_TEST_SUITE_P(on, bursts_of_four, ::testing::Values("node:1 core:4 pu:1", "node:4 core:1 pu:1"),
                         [](const auto& machine) { return machine.index == 0 ? "one_node" : "four_nodes"; });

/// Threads that find nothing call each other no more often than the last burst had use for, 15 times: there is an end
/// to it. Without one it was 31 times and more.
TEST(bursts, come_to_rest) {
  in_own_process(on_machine("node:4 core:4 pu:1"), [] {
    const auto limit = threads(16);
    bursts some(15);
    for (int round = 0; round < 20; ++round) {
      some.run(16);
      EXPECT_LE(some.run(1), 20U) << "one task, after a burst for all threads";
    }
  });
}

}  // namespace
