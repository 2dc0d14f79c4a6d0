// Who works where: how many workers of each domain the resource manager gives to each arena, on made-up machines, while
// arenas come, go and change what they want. Each test looks into the manager in a process of its own.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <thread>
#include <vector>

#include "runtime/arena/arena_access.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/topology_fixture.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

namespace sync = homing::sync;
using homing::domain_index;
using homing::scheduler::arena_access;
using homing::testing::await;
using homing::testing::busy_arena;
using homing::testing::comes_true;
using homing::testing::counts;
using homing::testing::held_arena;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::on_node;
using homing::testing::threads;
using homing::topology::testing::fixture_path;
using priority = tbb::task_arena::priority;

// ---- the deal: workers over domains

struct machine_case {
  std::string topology;
  counts cpus;  ///< by domain
  friend void PrintTo(const machine_case& c, std::ostream* out) { *out << c.topology; }
};

class dealt : public ::testing::TestWithParam<machine_case> {};

/// With k threads a CPU, the application's thread included, each domain has k for each of its CPUs: all of them
/// workers, but for the one domain in which the application's thread counts.
TEST_P(dealt, in_proportion_to_the_cpus_of_each_domain) {
  in_own_process(on_machine(GetParam().topology), [] {
    const counts& cpus = GetParam().cpus;
    const int total = std::accumulate(cpus.begin(), cpus.end(), 0);
    for (const int k : {1, 2, 3}) {
      const auto limit = threads(static_cast<std::size_t>(k * total));
      const busy_arena arena(k * total, 1);
      arena.expect_total(k * total - 1);
      const counts given = arena.allotted();
      ASSERT_EQ(given.size(), cpus.size());
      for (std::size_t d = 0; d < cpus.size(); ++d) {
        EXPECT_GE(given[d], k * cpus[d] - 1) << "domain " << d << ", " << k << " threads a CPU";
        EXPECT_LE(given[d], k * cpus[d]) << "domain " << d << ", " << k << " threads a CPU";
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(machines, dealt,
                         ::testing::Values(machine_case{"node:1 core:4 pu:1", {4}},
                                           machine_case{"node:2 core:4 pu:1", {4, 4}},
                                           machine_case{"node:4 core:2 pu:1", {2, 2, 2, 2}},
                                           machine_case{"node:8 core:1 pu:2", {2, 2, 2, 2, 2, 2, 2, 2}},
                                           machine_case{fixture_path("unequal"), {4, 2, 1}},
                                           machine_case{fixture_path("memory_less"), {2, 2, 2}},
                                           machine_case{fixture_path("memory_tier"), {2, 2}}));

// ---- the allotment: workers over arenas

const homing::testing::environment two_by_four = on_machine("node:2 core:4 pu:1");
const homing::testing::environment four_by_two = on_machine("node:4 core:2 pu:1");

/// TBB-NUMA 4.2's own example: never four on one domain.
TEST(allotment, two_arenas_get_two_workers_of_each_domain) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena first(8, 0U);
    const busy_arena second(8, 0U);
    first.expect({2, 2});
    second.expect({2, 2});
  });
}

TEST(allotment, arenas_that_come_and_go_keep_each_others_workers_spread) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena first(8, 0U);
    first.expect({4, 4});
    {
      const busy_arena second(8, 0U);
      first.expect({2, 2});
      second.expect({2, 2});
    }
    first.expect({4, 4});
    {
      const busy_arena small(2, 0U);  // wants 2 where the first wants 8: a fifth of the workers, rounded by turns
      counts now;
      EXPECT_TRUE(comes_true([&] {
        now = small.present();
        return now == counts{1, 1} || now == counts{1, 0} || now == counts{0, 1};
      })) << ::testing::PrintToString(now);
    }
    first.expect({4, 4});
  });
}

TEST(allotment, four_domains_share_three_arenas) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(13);  // 12 workers, 3 of each domain
    const busy_arena first(12, 0U);
    const busy_arena second(12, 0U);
    const busy_arena third(12, 0U);
    first.expect({1, 1, 1, 1});
    second.expect({1, 1, 1, 1});
    third.expect({1, 1, 1, 1});
  });
}

TEST(allotment, an_arena_smaller_than_the_machine_is_spread_too) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena four(4, 0U);
    four.expect({2, 2});
  });
}

/// No worker ever idles who could notice: the arena's own new tasks must ask.
TEST(allotment, an_arena_whose_share_was_cut_has_it_again_when_it_has_work) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    held_arena few(8, 0U);
    few.add(2);
    few.await_all();  // none is left in its queue
    const busy_arena always(8, 0U);
    few.expect_total(2);
    always.expect_total(6);
    await("a time when no worker idles", [&] {
      return homing::scheduler::resource_manager::current().available() == 0 &&
             homing::testing::sleeping_workers() == 0;
    });
    few.add(6);
    few.expect({2, 2});
    always.expect({2, 2});
  });
}

// ---- constraints

TEST(allotment, a_node_restricts_an_arena_to_its_domain) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena first(on_node(1), 0U);
    EXPECT_EQ(first.max_concurrency(), 4);
    first.expect({0, 4});
    const busy_arena second(on_node(0), 0U);
    first.expect({0, 4});
    second.expect({4, 0});
  });
}

/// One worker fewer than CPUs is dealt: without one that moves, the first node's two slots would have one.
TEST(allotment, an_arena_of_one_node_is_filled_by_workers_alone) {
  in_own_process(four_by_two, [] {
    for (int round = 0; round < 20; ++round) {
      for (int node = 0; node < 4; ++node) {
        held_arena alone(on_node(node), 0U);
        alone.add(2);
        alone.await_all();
        counts both(4, 0);
        both[static_cast<std::size_t>(node)] = 2;
        alone.expect(both);
        EXPECT_LE(homing::testing::worker_threads().size(), 7U);
      }
      const busy_arena everywhere(8, 1U);  // the one that moved is missed where it came from, and goes back
      everywhere.expect_total(7);
    }
  });
}

TEST(allotment, arenas_of_one_node_each_never_have_more_workers_than_are_allowed) {
  in_own_process(four_by_two, [] {
    for (const std::size_t allowed : {8U, 5U, 4U}) {
      const auto limit = threads(allowed);
      const busy_arena first(on_node(0), 0U);
      const busy_arena second(on_node(1), 0U);
      const busy_arena third(on_node(2), 0U);
      const busy_arena fourth(on_node(3), 0U);
      const auto total = [&] {
        int sum = 0;
        for (const busy_arena* a : {&first, &second, &third, &fourth}) {
          const counts c = a->allotted();
          sum += std::accumulate(c.begin(), c.end(), 0);
        }
        return sum;
      };
      EXPECT_TRUE(comes_true([&] { return total() == static_cast<int>(allowed) - 1; })) << total();
    }
    EXPECT_LE(homing::testing::worker_threads().size(), 7U);
  });
}

TEST(allotment, node_ids_are_the_systems_not_dense) {
  in_own_process(on_machine(fixture_path("unequal")), [] {
    const auto limit = threads(8);
    const busy_arena arena(on_node(2), 0U);
    EXPECT_EQ(arena.max_concurrency(), 2);
    arena.expect({0, 2, 0});
  });
}

TEST(allotment, a_node_without_memory_gets_its_workers) {
  in_own_process(on_machine(fixture_path("memory_less")), [] {
    const auto limit = threads(7);
    const busy_arena arena(on_node(1), 0U);
    arena.expect({0, 2, 0});
  });
}

TEST(allotment, one_thread_a_core_leaves_half_of_each_domain) {
  in_own_process(on_machine(fixture_path("l3_groups")), [] {
    const auto limit = threads(17);
    const busy_arena arena(tbb::task_arena::constraints{}.set_max_threads_per_core(1), 0U);
    EXPECT_EQ(arena.max_concurrency(), 8);
    arena.expect({4, 4});
  });
}

TEST(allotment, a_core_type_and_a_limit_of_threads_a_core) {
  in_own_process(on_machine(fixture_path("hybrid")), [] {
    const auto limit = threads(9);
    const auto types = tbb::info::core_types();
    ASSERT_EQ(types.size(), 2U);
    {
      const busy_arena fast(tbb::task_arena::constraints{}.set_core_type(types.back()), 0U);
      fast.expect({4});
    }
    const busy_arena fast_cores(tbb::task_arena::constraints{}.set_core_type(types.back()).set_max_threads_per_core(1),
                                0U);
    fast_cores.expect({2});
  });
}

TEST(allotment, a_given_concurrency_counts_more_than_the_constraints) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena arena(on_node(1).set_max_concurrency(3), 0U);
    EXPECT_EQ(arena.max_concurrency(), 3);
    arena.expect({0, 3});
  });
}

// ---- priorities

TEST(allotment, a_higher_priority_takes_all_and_gives_it_back) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena low(8, 0U, priority::low);
    low.expect({4, 4});
    {
      const busy_arena high(8, 0U, priority::high);
      high.expect({4, 4});
      low.expect({0, 0});
    }
    low.expect({4, 4});
  });
}

TEST(allotment, a_lower_priority_gets_what_is_left) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena low(8, 0U, priority::low);
    std::optional<busy_arena> normal(std::in_place, 4, 0U);
    std::optional<busy_arena> high(std::in_place, 2, 0U, priority::high);
    high->expect({1, 1});
    normal->expect({2, 2});
    low.expect({1, 1});
    high.reset();
    normal->expect({2, 2});
    low.expect({2, 2});
    normal.reset();
    low.expect({4, 4});
  });
}

// ---- global_control

TEST(allotment, a_limit_that_is_lowered_and_raised_holds_in_every_domain) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena arena(8, 0U);
    arena.expect({4, 4});
    {
      const auto lower = threads(5);
      arena.expect({2, 2});
      {
        const auto none = threads(1);
        arena.expect_total(1);  // enqueued tasks keep one worker
      }
      arena.expect({2, 2});
    }
    arena.expect({4, 4});
  });
}

TEST(allotment, a_limit_above_the_cpus_deals_more_workers_evenly) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(17);
    const busy_arena arena(16, 0U);
    arena.expect({8, 8});
  });
}

TEST(allotment, a_task_enqueued_before_the_limit_fell_to_one_runs) {
  in_own_process(two_by_four, [] {
    const auto one_worker = threads(2);
    tbb::task_arena first(2, 0U);
    tbb::task_arena second(2, 0U);
    sync::atomic<bool> holds{false};
    sync::atomic<bool> may_end{false};
    sync::atomic<bool> ran{false};
    first.enqueue([&] {
      holds.store(true, sync::release);
      await("the worker's release", [&] { return may_end.load(sync::acquire); });
    });
    await("the worker", [&] { return holds.load(sync::acquire); });
    second.enqueue([&] { ran.store(true, sync::release); });
    const auto none = threads(1);
    may_end.store(true, sync::release);
    await("the task that was enqueued while a worker was allowed", [&] { return ran.load(sync::acquire); });
  });
}

TEST(allotment, where_no_worker_is_allowed_an_enqueued_task_gets_one_of_any_domain) {
  in_own_process(two_by_four, [] {
    const auto none = threads(1);
    for (int round = 0; round < 200; ++round) {
      tbb::task_arena arena(on_node(round % 2), 0U);
      sync::atomic<bool> ran{false};
      arena.enqueue([&] { ran.store(true, sync::release); });
      await("a task enqueued for one node", [&] { return ran.load(sync::acquire); });
    }
  });
}

TEST(allotment, of_limits_changed_by_several_threads_the_last_holds) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const homing::scheduler::resource_manager& manager = homing::scheduler::resource_manager::current();
    for (int round = 0; round < 2000; ++round) {
      {
        std::vector<std::jthread> changers;
        for (std::size_t t = 0; t < 4; ++t) {
          changers.emplace_back([t] {
            for (int i = 0; i < 20; ++i) {
              const auto lower = threads(1 + t);
            }
          });
        }
      }
      ASSERT_EQ(manager.allowed_workers(), 8U) << "round " << round;
    }
  });
}

/// One worker is allowed, and it is of another domain: better that one than none.
TEST(allotment, a_node_without_a_worker_under_the_limit_gets_one_of_another) {
  in_own_process(four_by_two, [] {
    for (const std::size_t limit : {2U, 1U}) {
      const auto few = threads(limit);
      for (int node = 0; node < 4; ++node) {
        tbb::task_arena arena(on_node(node), 0U);
        sync::atomic<bool> ran{false};
        arena.enqueue([&] { ran.store(true, sync::release); });
        await("a task enqueued on a node without workers", [&] { return ran.load(sync::acquire); });
      }
    }
  });
}

/// Stays in its exit until told, as long as it is a worker that leaves.
class slow_to_leave final : public tbb::task_scheduler_observer {
 public:
  explicit slow_to_leave(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~slow_to_leave() override { observe(false); }
  void on_scheduler_exit(bool is_worker) override {
    if (is_worker) {
      leaves.store(true, sync::release);
      await("the end of the exit", [this] { return may_leave.load(sync::acquire); });
    }
  }
  sync::atomic<bool> leaves{false};
  sync::atomic<bool> may_leave{false};
};

/// The only worker is on its way out of an arena whose end it brings about, and has been allotted to one whose work is
/// done by then, while a third begins to want it.
TEST(allotment, an_arena_listed_while_another_ends_gets_its_worker) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(2);
    for (int round = 0; round < 20; ++round) {
      auto ends = std::make_unique<tbb::task_arena>(2, 1);
      auto observer = std::make_unique<slow_to_leave>(*ends);
      tbb::task_arena sated(2, 1);
      tbb::task_arena wants(2, 1);
      tbb::task_group group;
      sync::atomic<bool> held{false};
      sync::atomic<bool> may_go{false};
      sync::atomic<bool> ran{false};
      ends->enqueue([&] {
        held.store(true, sync::release);
        await("the end of the hold", [&] { return may_go.load(sync::acquire); });
      });
      await("the only worker", [&] { return held.load(sync::acquire); });
      sated.execute([&] { group.run([] {}); });
      may_go.store(true, sync::release);
      await("the worker's way out", [&] { return observer->leaves.load(sync::acquire); });
      sated.execute([&] { group.wait(); });
      wants.enqueue([&] { ran.store(true, sync::release); });
      ends.reset();
      observer->may_leave.store(true, sync::release);
      await("the task of an arena that was listed meanwhile", [&] { return ran.load(sync::acquire); });
      observer.reset();
    }
  });
}

// ---- who is woken

/// Notes the domain of the worker that ran it.
class noting_task final : public tbb::detail::d1::task {
 public:
  tbb::detail::d1::task* execute(tbb::detail::d1::execution_data&) override {
    domain.emplace(homing::scheduler::this_thread().domain);
    done.store(true, sync::release);
    return nullptr;
  }
  tbb::detail::d1::task* cancel(tbb::detail::d1::execution_data& ed) override { return execute(ed); }

  std::optional<domain_index> domain;
  sync::atomic<bool> done{false};
};

TEST(allotment, a_sleeper_of_the_domain_that_has_the_work_is_woken) {
  const auto report = in_own_process(four_by_two, [] {
    constexpr unsigned rounds = 400;
    constexpr int workers = 8;
    const auto limit = threads(workers + 1);
    tbb::task_arena user(8, 0U);
    user.initialize();
    {
      const busy_arena all(8, 0U);  // makes the workers
      all.expect({2, 2, 2, 2});
    }
    homing::scheduler::arena& inside = *arena_access::arena_of(user);
    unsigned at_home = 0;
    for (unsigned round = 0; round < rounds; ++round) {
      await("all workers asleep", [&] { return homing::testing::workers_rest(workers); });
      noting_task task;
      homing::scheduler::task_access::set_context(task, &inside.default_context());
      homing::scheduler::task_access::set_isolation(task, homing::scheduler::no_isolation);
      const domain_index home{round % 4};
      homing::scheduler::task_access::set_address(task, {.home = home});
      inside.enqueue(task, home, 0);
      await("the enqueued task", [&] { return task.done.load(sync::acquire); });
      at_home += task.domain == home ? 1U : 0U;
    }
    EXPECT_EQ(at_home, rounds);
  });
  EXPECT_GE(report.number("wakeups"), 400U);
}

}  // namespace
