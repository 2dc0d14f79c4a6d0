// The share of workers that an arena keeps while it has nothing for them to do: docs/protocols/arena.md [A14].
#include <gtest/gtest.h>
#include <oneapi/tbb/task_group.h>

#include <mutex>
#include <set>
#include <thread>

#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/topology_fixture.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

namespace sync = homing::sync;
using homing::testing::await;
using homing::testing::busy_arena;
using homing::testing::counts;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::threads;

const homing::testing::environment four_by_two = on_machine("node:4 core:2 pu:1");
const counts nobody{0, 0, 0, 0};

class resting_arena : public homing::testing::watched_arena {
 public:
  using watched_arena::watched_arena;

  /// Gives a worker something to do, waits until all workers sleep, and returns the share that is left.
  [[nodiscard]] counts run_and_rest() {
    sync::atomic<bool> ran{false};
    arena_.enqueue([&] { ran.store(true, sync::release); });
    await("an enqueued task", [&] { return ran.load(sync::acquire); });
    await("rest", [&] { return present() == counts(present().size(), 0) && homing::testing::all_workers_rest(); });
    return allotted();
  }

  /// Spawns tasks from the calling thread and counts the threads that run them.
  void expect_tasks_on_at_most(std::size_t count) {
    std::mutex lock;
    std::set<std::thread::id> ran_on;
    arena_.execute([&] {
      tbb::task_group group;
      for (int i = 0; i < 200; ++i) {
        group.run([&] {
          std::this_thread::yield();
          const std::lock_guard hold(lock);
          ran_on.insert(std::this_thread::get_id());
        });
      }
      group.wait();
    });
    EXPECT_LE(ran_on.size(), count);
  }
};

TEST(kept_share, an_arena_at_rest_keeps_its_share_until_another_asks) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(9);
    int kept = 0;  // not always: a worker that found nothing may have allotted anew
    for (int round = 0; round < 50; ++round) {
      resting_arena rests(8, 0U);
      kept += rests.run_and_rest() != nobody ? 1 : 0;
      kept += rests.run_and_rest() != nobody ? 1 : 0;
      const busy_arena asks(8, 0U);
      asks.expect({2, 2, 2, 2});
      EXPECT_EQ(rests.allotted(), nobody);
    }
    EXPECT_GT(kept, 0);
  });
}

TEST(kept_share, a_lower_limit_holds_for_an_arena_at_rest) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(9);
    for (int round = 0; round < 50; ++round) {
      resting_arena rests(8, 0U);
      static_cast<void>(rests.run_and_rest());
      const auto lower = threads(2);
      rests.expect_tasks_on_at_most(2);
    }
  });
}

/// Its one worker came for what was enqueued; what is spawned afterwards is not for it.
TEST(kept_share, a_mandatory_workers_share_is_not_for_spawned_tasks) {
  in_own_process(on_machine("node:1 core:4 pu:1"), [] {
    const auto none = threads(1);
    for (int round = 0; round < 50; ++round) {
      resting_arena rests(2, 1U);
      static_cast<void>(rests.run_and_rest());
      rests.expect_tasks_on_at_most(1);
    }
  });
}

}  // namespace
