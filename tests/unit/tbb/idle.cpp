// What the library costs while there is nothing to do, by the kernel's own accounts: whether workers at rest ever run,
// and how many one task wakes.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>

#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::sleeping_workers;
using homing::testing::worker_threads;
using homing::testing::workers_rest;

constexpr int thread_count = 16;
const homing::testing::environment sixteen = homing::testing::on_machine("node:4 core:4 pu:1");

/// A loop that ends only when all threads have come.
void bring_all_workers() {
  std::atomic<int> here{0};
  tbb::parallel_for(
      0, thread_count,
      [&](int) {
        ++here;
        await("all threads in one loop", [&] { return here.load() == thread_count; });
      },
      tbb::simple_partitioner{});
}

unsigned long times_slept() {
  unsigned long sum = 0;
  for (const auto& [id, facts] : worker_threads()) {
    sum += facts.times_slept;
  }
  return sum;
}

bool all_rest() { return workers_rest(thread_count - 1); }

/// Who runs at all has to go to sleep again, and is counted.
TEST(idle, workers_at_rest_do_not_run) {
  in_own_process(sixteen, [] {
    bring_all_workers();
    await("all workers at rest", all_rest);
    const unsigned long before = times_slept();
    constexpr unsigned looks = 1000;  // of many system calls each
    for (unsigned look = 0; look < looks; ++look) ASSERT_EQ(times_slept(), before) << "look " << look;
    EXPECT_EQ(sleeping_workers(), thread_count - 1);
  });
}

template <typename Push>
void expect_one_woken_by(Push&& push) {
  constexpr unsigned rounds = 300;
  bring_all_workers();
  unsigned long woken = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    await("all workers asleep", all_rest);
    const unsigned long before = times_slept();
    std::atomic<bool> done{false};
    push(done);
    await("the task", [&] { return done.load(); });
    await("all workers asleep again", all_rest);
    woken += times_slept() - before;
  }
  EXPECT_GE(woken, rounds);
  EXPECT_LE(woken, rounds + rounds / 10) << "a lock that is waited for counts as well, but is rare";
}

TEST(idle, an_enqueued_task_wakes_one_worker) {
  const auto report = in_own_process(sixteen, [] {
    tbb::task_arena arena(thread_count, 0);
    expect_one_woken_by([&](std::atomic<bool>& done) { arena.enqueue([&] { done = true; }); });
  });
  EXPECT_GE(report.number("wakeups"), 300U);
  EXPECT_LE(report.number("wakeups"), 330U + thread_count);
}

TEST(idle, a_spawned_task_wakes_one_worker) {
  in_own_process(sixteen, [] {
    tbb::task_group group;
    expect_one_woken_by([&](std::atomic<bool>& done) { group.run([&] { done = true; }); });
    group.wait();
  });
}

}  // namespace
