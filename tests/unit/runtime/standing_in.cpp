// [A26] All workers of a domain stay in an arena whose share has gone to another: one of another domain takes it.
#include <gtest/gtest.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <thread>

#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/topology_fixture.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

namespace sync = homing::sync;
using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::threads;
using priority = tbb::task_arena::priority;

const homing::testing::environment two_by_two = on_machine("node:2 core:2 pu:1");

/// For workers of one node only.
tbb::task_arena arena_of_node(std::size_t node, int workers, priority level) {
  return tbb::task_arena(tbb::task_arena::constraints(tbb::info::numa_nodes().at(node), workers), 0, level);
}

/// Its workers stay until it is left.
class occupied {
 public:
  occupied(tbb::task_arena& in, int workers) {
    for (int i = 0; i < workers; ++i) {
      in.enqueue([this] {
        inside_.fetch_add(1, sync::release);
        while (!may_go_.load(sync::acquire)) {
          std::this_thread::yield();
        }
        inside_.fetch_sub(1, sync::release);
      });
    }
    await("all its workers", [&] { return inside_.load(sync::acquire) == workers; });
  }
  ~occupied() {
    may_go_.store(true, sync::release);
    await("their end", [&] { return inside_.load(sync::acquire) == 0; });
  }
  occupied(const occupied&) = delete;
  occupied& operator=(const occupied&) = delete;

 private:
  sync::atomic<int> inside_{0};
  sync::atomic<bool> may_go_{false};
};

void expect_served(tbb::task_arena& a) {
  sync::atomic<bool> ran{false};
  a.enqueue([&] { ran.store(true, sync::release); });
  await("a task of an arena whose workers are elsewhere", [&] { return ran.load(sync::acquire); });
}

void expect_served_beside_occupied() {
  tbb::task_arena low = arena_of_node(1, 2, priority::low);
  tbb::task_arena high = arena_of_node(1, 1, priority::high);
  const occupied all_of_node(low, 2);
  expect_served(high);
  expect_served(high);
}

TEST(standing_in, by_one_that_has_yet_to_be_made) {
  in_own_process(two_by_two, [] {
    const auto limit = threads(4);
    expect_served_beside_occupied();
  });
}

TEST(standing_in, by_one_that_rests) {
  const auto report = in_own_process(two_by_two, [] {
    const auto limit = threads(4);
    tbb::task_arena other = arena_of_node(0, 1, priority::normal);
    expect_served(other);
    await("its rest", [] { return homing::testing::workers_rest(1); });
    expect_served_beside_occupied();
  });
  EXPECT_GE(report.number("wakeups"), 1U) << "of the one that stands in";
}

/// Whoever has stood in goes back where workers are missing.
TEST(standing_in, again_and_again) {
  in_own_process(two_by_two, [] {
    const auto limit = threads(4);
    tbb::task_arena other = arena_of_node(0, 1, priority::normal);
    for (int round = 0; round < 50; ++round) {
      expect_served_beside_occupied();
      expect_served(other);
    }
  });
}

/// Two arenas wait, and two can stand in: the first one to do so calls the second.
TEST(standing_in, for_two_arenas_that_wait_for_each_other) {
  in_own_process(on_machine("node:2 core:3 pu:1"), [] {
    const auto limit = threads(6);
    for (int round = 0; round < 20; ++round) {
      tbb::task_arena low = arena_of_node(1, 3, priority::low);
      tbb::task_arena one = arena_of_node(1, 1, priority::high);
      tbb::task_arena other = arena_of_node(1, 1, priority::normal);
      const occupied all_of_node(low, 3);
      sync::atomic<int> there{0};
      const auto meet = [&] {
        there.fetch_add(1, sync::release);
        while (there.load(sync::acquire) < 2) {
          std::this_thread::yield();
        }
        there.fetch_add(1, sync::release);
      };
      one.enqueue(meet);
      other.enqueue(meet);
      await("both", [&] { return there.load(sync::acquire) == 4; });
    }
  });
}

}  // namespace
