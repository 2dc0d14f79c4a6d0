// What the library costs while there is nothing to do, by the kernel's own accounts: CPU time of an idle process, and
// how many workers one task wakes.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <poll.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>

#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::sleeping_workers;
using homing::testing::worker_threads;

constexpr int thread_count = 16;
const homing::testing::environment sixteen = homing::testing::on_machine("node:4 core:4 pu:1");

std::chrono::microseconds cpu_time() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto time = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return time(use.ru_utime) + time(use.ru_stime);
}

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

/// The second that is waited decides nothing: what counts is the CPU time in it.
TEST(idle, a_second_after_a_loop_costs_less_than_five_milliseconds) {
  in_own_process(sixteen, [] {
    bring_all_workers();
    const auto before = cpu_time();
    static_cast<void>(poll(nullptr, 0, 1000));
    EXPECT_LT((cpu_time() - before).count(), 5000) << "microseconds";
    EXPECT_EQ(sleeping_workers(), thread_count - 1);
  });
}

template <typename Push>
void expect_one_woken_by(Push&& push) {
  constexpr unsigned rounds = 300;
  bring_all_workers();
  unsigned long woken = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    await("all workers asleep", [] { return sleeping_workers() == thread_count - 1; });
    const unsigned long before = times_slept();
    std::atomic<bool> done{false};
    push(done);
    await("the task", [&] { return done.load(); });
    await("all workers asleep again", [] { return sleeping_workers() == thread_count - 1; });
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
