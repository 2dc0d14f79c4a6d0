// Computations side by side: each keeps threads of every domain, whatever the others want and however few are left, and
// a task for a domain whose threads others have is taken by a thread that idles. Method: arenas that always have work,
// looked into, on made-up machines in processes of their own. Two arenas of equal size: runtime_allotment.
#include <gtest/gtest.h>
#include <homing/tasks.hpp>

#include <memory>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/own_process.hpp"

namespace {

namespace sync = homing::sync;
using homing::testing::await;
using homing::testing::busy_arena;
using homing::testing::comes_true;
using homing::testing::counts;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::threads;
using homing::testing::total;
using homing::testing::unevenness;

/// As long as there are enough workers, each has some of every domain, and no domain has two more than another. (For a
/// moment, an arena whose tasks have all been taken keeps the workers that run them, wherever they are.)
TEST(composability, two_three_and_four_arenas_of_any_sizes_are_spread) {
  in_own_process(on_machine("node:2 core:8 pu:1"), [] {
    const auto limit = threads(17);
    const std::vector<std::vector<int>> cases{{16, 16},   {16, 8},    {16, 4},          {16, 16, 16},
                                              {16, 8, 8}, {12, 6, 3}, {16, 16, 16, 16}, {5, 6, 7, 8}};
    for (const std::vector<int>& sizes : cases) {
      std::vector<std::unique_ptr<busy_arena>> arenas;
      for (const int size : sizes) arenas.push_back(std::make_unique<busy_arena>(size, 0U));
      std::vector<counts> now(arenas.size());
      const auto all_at_work_and_spread = [&] {
        int workers = 0;
        bool good = true;
        for (std::size_t i = 0; i < arenas.size(); ++i) {
          now[i] = arenas[i]->present();
          workers += total(now[i]);
          good = good && now[i] == arenas[i]->allotted() && unevenness(now[i]) <= 1 && now[i][0] > 0 && now[i][1] > 0;
        }
        return good && workers == 16;
      };
      EXPECT_TRUE(comes_true(all_at_work_and_spread))
          << ::testing::PrintToString(sizes) << " want workers, and have " << ::testing::PrintToString(now);
    }
  });
}

TEST(composability, an_arena_that_shrinks_to_k_workers_stays_spread) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    const busy_arena arena(8, 0U);
    for (const std::size_t k : {8U, 7U, 6U, 5U, 4U, 3U, 2U, 1U, 8U, 2U, 4U, 1U, 8U}) {
      const auto limit = threads(k + 1);
      arena.expect_spread(static_cast<int>(k));
    }
  });
}

/// A contender takes and gives back threads all the time; the tasks' creator runs none of them.
TEST(composability, no_affinitized_task_waits_while_arenas_come_and_go) {
  in_own_process(on_machine("node:4 core:1 pu:1"), [] {
    const auto limit = threads(5);
    tbb::task_arena arena(5, 1U);
    for (int round = 0; round < 300; ++round) {
      const busy_arena contender(4, 0U);
      arena.execute([&] {
        sync::atomic<unsigned> ran{0};
        homing::task_group group;
        for (unsigned d = 0; d < 4; ++d) {
          group.run(homing::on(d), [&] { ran.fetch_add(1, sync::release); });
        }
        await("tasks for all domains", [&] { return ran.load(sync::acquire) == 4; });
        static_cast<void>(group.wait());
      });
    }
  });
}

}  // namespace
