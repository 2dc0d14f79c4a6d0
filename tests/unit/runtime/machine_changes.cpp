// The machine changes while the program runs: masks, as a container that is resized does it, and on a made-up machine
// domains that go and come back. Workers follow, and no task waits for a domain that has gone.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <unistd.h>

#include <filesystem>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "platform/cpu_set.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

namespace platform = homing::platform;
namespace sync = homing::sync;
using homing::domain_index;
using homing::scheduler::arena_access;
using homing::scheduler::resource_manager;
using homing::testing::await;
using homing::testing::busy_arena;
using homing::testing::comes_true;
using homing::testing::counts;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::threads;
using part = resource_manager::usable_part;

// ---- masks of the real machine

/// As `taskset -ap`: every thread's.
void set_mask_of_all_threads(const platform::cpu_set& mask) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    static_cast<void>(platform::set_affinity(std::stoi(entry.path().filename()), mask));
  }
}

void run_a_task() {
  sync::atomic<bool> ran{false};
  tbb::task_arena arena(1);
  arena.enqueue([&] { ran.store(true, sync::release); });
  await("an enqueued task", [&] { return ran.load(sync::acquire); });
}

class machine_changes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (all_.count() < 2) {
      GTEST_SKIP() << "needs two CPUs";
    }
  }
  [[nodiscard]] unsigned all_but_one() const { return all_.count() - 1; }
  const platform::cpu_set all_ = platform::get_affinity().mask;
  const platform::cpu_set one_{all_.ids().front()};
};

TEST_F(machine_changes, a_mask_of_all_threads_is_followed_both_ways) {
  in_own_process({}, [this] {
    run_a_task();
    resource_manager& manager = resource_manager::current();
    EXPECT_EQ(manager.allowed_workers(), all_but_one());
    for (int round = 0; round < 5; ++round) {
      set_mask_of_all_threads(one_);
      manager.look_at_machine(0);
      EXPECT_EQ(manager.default_concurrency(), 1U);
      EXPECT_EQ(manager.allowed_workers(), 0U);
      run_a_task();
      set_mask_of_all_threads(all_);
      manager.look_at_machine(0);
      EXPECT_EQ(manager.default_concurrency(), all_.count());
      EXPECT_EQ(manager.allowed_workers(), all_but_one());
      run_a_task();
      for (const auto& [id, facts] : homing::testing::worker_threads()) {
        EXPECT_EQ(platform::get_affinity(std::stoi(id)).mask, all_);
      }
    }
  });
}

/// What changes the demand looks, and so does a worker that has nothing to do.
TEST_F(machine_changes, is_noticed_by_whoever_changes_the_demand) {
  in_own_process({}, [this] {
    run_a_task();
    resource_manager& manager = resource_manager::current();
    set_mask_of_all_threads(one_);
    await("the smaller machine", [&] {
      run_a_task();
      return manager.allowed_workers() == 0;
    });
  });
}

TEST_F(machine_changes, a_limit_that_the_program_set_stays) {
  in_own_process({}, [this] {
    const auto limit = threads(4);
    run_a_task();
    resource_manager& manager = resource_manager::current();
    set_mask_of_all_threads(one_);
    manager.look_at_machine(0);
    EXPECT_EQ(manager.allowed_workers(), 3U);
    EXPECT_EQ(manager.default_concurrency(), 1U);
  });
}

TEST_F(machine_changes, a_program_that_pins_its_threads_changes_nothing) {
  in_own_process({}, [this] {
    resource_manager& manager = resource_manager::current();
    sync::atomic<bool> ran{false};
    tbb::task_arena arena(1);
    arena.enqueue([&] {
      static_cast<void>(platform::set_affinity(0, one_));
      ran.store(true, sync::release);
    });
    await("a worker that is pinned", [&] { return ran.load(sync::acquire); });
    manager.look_at_machine(0);
    EXPECT_EQ(manager.allowed_workers(), all_but_one());
    const platform::cpu_set other{all_.ids().back()};
    static_cast<void>(platform::set_affinity(0, other));
    manager.look_at_machine(0);
    EXPECT_EQ(manager.allowed_workers(), all_but_one());
    EXPECT_EQ(platform::get_affinity().mask, other);
  });
}

// ---- domains of a made-up machine

const homing::testing::environment four_by_two = on_machine("node:4 core:2 pu:1");

std::vector<part> without(unsigned gone) {
  std::vector<part> parts;
  for (unsigned d = 0; d < 4; ++d) {
    parts.push_back(d == gone ? part{} : part{2, platform::get_affinity().mask});
  }
  return parts;
}

constexpr unsigned none = 4;

TEST(domains_change, workers_of_one_that_has_gone_move_and_come_back) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(9);
    const busy_arena arena(8, 0U);
    arena.expect({2, 2, 2, 2});
    for (unsigned round = 0; round < 20; ++round) {
      const unsigned gone = round % 4;
      resource_manager::current().machine_is_now(without(gone), 6);
      arena.expect_total(8);
      EXPECT_EQ(arena.allotted()[gone], 0);
      resource_manager::current().machine_is_now(without(none), 8);
      arena.expect({2, 2, 2, 2});
      EXPECT_LE(homing::testing::worker_threads().size(), 8U);
    }
  });
}

TEST(domains_change, the_default_number_of_threads_follows) {
  in_own_process(four_by_two, [] {
    const busy_arena arena(8, 1U);
    arena.expect_total(7);
    resource_manager::current().machine_is_now(without(2), 6);
    arena.expect_total(5);
    EXPECT_EQ(arena.allotted()[2], 0);
    resource_manager::current().machine_is_now(without(none), 8);
    arena.expect_total(7);
  });
}

TEST(domains_change, an_arena_of_a_node_that_has_gone_gets_workers_of_others) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(9);
    run_a_task();
    resource_manager::current().machine_is_now(without(1), 6);
    const busy_arena arena(homing::testing::on_node(1), 0U);
    arena.expect_total(2);
    EXPECT_EQ(arena.allotted()[1], 0);
  });
}

/// A worker may begin for a domain, or move there, just when that goes. It has no CPUs to take then; when they come
/// back, it gets them as others do.
TEST(domains_change, a_worker_that_comes_as_its_domain_goes_has_its_cpus_when_that_is_back) {
  if (platform::get_affinity().mask.count() < 2) {
    GTEST_SKIP() << "needs two CPUs";
  }
  in_own_process(four_by_two, [] {
    const std::vector<homing::cpu_id> ids = platform::get_affinity().mask.ids();
    const auto parts_without = [&](unsigned gone) {  // neighbours have different CPUs, so that a move shows
      std::vector<part> parts(4);
      for (unsigned d = 0; d < 4; ++d) {
        if (d != gone) parts[d] = {2, platform::cpu_set{ids[d % 2]}};
      }
      return parts;
    };
    const auto limit = threads(9);
    resource_manager& manager = resource_manager::current();
    for (unsigned round = 0; round < 50; ++round) {
      tbb::task_scheduler_handle handle{tbb::attach{}};
      {
        const busy_arena begins(8, 0U);
        for (const unsigned gone : {0U, 1U, 2U, 3U}) {
          manager.machine_is_now(parts_without(gone), 6);
          for (unsigned turn = 0; turn < 4 * (round % 8); ++turn) std::this_thread::yield();
        }
        manager.machine_is_now(parts_without(none), 8);
        begins.expect({2, 2, 2, 2});
        const auto workers_on = [](homing::cpu_id cpu) {
          int result = 0;
          for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
            const auto mask = platform::get_affinity(std::stoi(entry.path().filename())).mask;
            result += mask == platform::cpu_set{cpu} ? 1 : 0;
          }
          return result;
        };
        EXPECT_TRUE(comes_true([&] { return workers_on(ids[0]) == 4 && workers_on(ids[1]) == 4; }))
            << "round " << round << ": " << workers_on(ids[0]) << " and " << workers_on(ids[1]) << " workers, not 4";
      }
      ASSERT_TRUE(tbb::finalize(handle, std::nothrow));  // so that the next round has new threads
    }
  });
}

class counted_task final : public tbb::detail::d1::task {
 public:
  tbb::detail::d1::task* execute(tbb::detail::d1::execution_data&) override {
    done.store(true, sync::release);
    return nullptr;
  }
  tbb::detail::d1::task* cancel(tbb::detail::d1::execution_data& ed) override { return execute(ed); }
  sync::atomic<bool> done{false};
};

/// Also where thieves never leave their domain.
TEST(domains_change, a_task_addressed_to_a_domain_that_has_gone_is_run) {
  homing::testing::environment stays = four_by_two;
  stays.emplace_back("HOMING_STEAL", "domain");
  in_own_process(stays, [] {
    const auto limit = threads(9);
    tbb::task_arena arena(8, 0U);
    arena.initialize();
    homing::scheduler::arena& inside = *arena_access::arena_of(arena);
    tbb::task_group_context context(tbb::task_group_context::isolated);
    run_a_task();
    for (unsigned round = 0; round < 100; ++round) {
      const unsigned gone = round % 4;
      counted_task before;
      counted_task after;
      for (counted_task* t : {&before, &after}) {
        homing::scheduler::task_access::set_context(*t, &context);
        homing::scheduler::task_access::set_isolation(*t, homing::scheduler::no_isolation);
        homing::scheduler::task_access::set_address(*t, {});
      }
      inside.enqueue(before, domain_index{gone}, 0);
      resource_manager::current().machine_is_now(without(gone), 6);
      inside.enqueue(after, domain_index{gone}, 0);
      await("tasks of a domain that has gone",
            [&] { return before.done.load(sync::acquire) && after.done.load(sync::acquire); });
      resource_manager::current().machine_is_now(without(none), 8);
    }
  });
}

}  // namespace
