// The system refuses to make threads, once, for a while, or for ever: whoever needs workers asks again, and what was
// enqueued is run. The test's own pthread_create() stands before the C library's and refuses the library's workers.
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/workers/resource_manager.hpp"
#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/made_threads.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/sleeps.hpp"

namespace {

namespace sync = homing::sync;
using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::threads;

constexpr int always = 1 << 30;
constinit sync::atomic<int> refusals_left{0};
constinit sync::atomic<bool> refuses_every_other{false};
constinit sync::atomic<unsigned> asked{0};

bool is_refused() noexcept {
  if (refuses_every_other.load(sync::relaxed)) {
    return asked.fetch_add(1, sync::relaxed) % 2 == 0;
  }
  return refusals_left.load(sync::relaxed) > 0 && refusals_left.fetch_sub(1, sync::relaxed) > 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) noexcept {
  return homing::testing::is_for_a_worker(attributes) && is_refused()
             ? EAGAIN
             : homing::testing::real_pthread_create(thread, attributes, start, argument);
}

namespace {

const homing::testing::environment four_by_two = on_machine("node:4 core:2 pu:1");

std::size_t threads_of_a_loop() {
  std::mutex lock;
  std::set<std::thread::id> ran_on;
  tbb::parallel_for(
      0, 64,
      [&](int) {
        std::this_thread::yield();
        const std::lock_guard hold(lock);
        ran_on.insert(std::this_thread::get_id());
      },
      tbb::simple_partitioner());
  return ran_on.size();
}

TEST(threads_refused, one_refusal_does_not_end_parallelism) {
  in_own_process(four_by_two, [] {
    refusals_left.store(1, sync::relaxed);
    tbb::task_arena arena(4);
    await("a worker, after a refusal", [&] {
      std::size_t ran_on = 0;
      arena.execute([&] { ran_on = threads_of_a_loop(); });
      return ran_on > 1;
    });
    EXPECT_LE(refusals_left.load(sync::relaxed), 0);
  });
}

TEST(threads_refused, all_workers_come_in_the_end) {
  in_own_process(four_by_two, [] {
    refusals_left.store(3, sync::relaxed);
    const auto limit = threads(9);
    const homing::testing::busy_arena arena(8, 0U);
    arena.expect({2, 2, 2, 2});
  });
}

/// Nobody calls the library again: who enqueued the task must not have left it.
TEST(threads_refused, an_enqueued_task_gets_a_thread_without_any_further_call) {
  in_own_process(four_by_two, [] {
    refusals_left.store(3, sync::relaxed);
    homing::testing::have_a_worker_come(1);
  });
}

TEST(threads_refused, who_waits_for_an_enqueued_task_asks_again) {
  in_own_process(four_by_two, [] {
    refusals_left.store(10, sync::relaxed);  // more than its enqueuer waits for
    tbb::task_arena arena(1);
    tbb::task_group group;
    sync::atomic<bool> ran{false};
    arena.enqueue(group.defer([&] { ran.store(true, sync::release); }));
    EXPECT_FALSE(ran.load(sync::acquire));
    group.wait();
    EXPECT_TRUE(ran.load(sync::acquire));
  });
}

/// It sleeps before anything is refused.
TEST(threads_refused, who_waited_before_asks_again) {
  in_own_process(four_by_two, [] {
    tbb::task_arena arena(2);
    tbb::task_group group;
    sync::atomic<bool> ran{false};
    tbb::task_handle task = group.defer([&] { ran.store(true, sync::release); });
    const pid_t waits = ::gettid();
    const std::jthread other([&] {
      await("a wait", [&] { return homing::testing::sleeps(waits); });
      refusals_left.store(10, sync::relaxed);  // more than its enqueuer waits for
      arena.enqueue(std::move(task));
      await("an enqueued task", [&] { return ran.load(sync::acquire); });
    });
    group.wait();
    EXPECT_TRUE(ran.load(sync::acquire));
  });
}

/// At the door of an arena that has no slot for workers, and whose two are taken until the task has been run.
TEST(threads_refused, who_waited_before_for_a_slot_asks_again) {
  in_own_process(four_by_two, [] {
    tbb::task_arena full(2, 2);
    tbb::task_arena arena(2);
    sync::atomic<bool> ran{false};
    sync::atomic<int> inside{0};
    const auto fill = [&] {
      full.execute([&] {
        inside.fetch_add(1, sync::release);
        await("an enqueued task", [&] { return ran.load(sync::acquire); });
      });
    };
    const std::jthread fillers[2] = {std::jthread(fill), std::jthread(fill)};
    await("a full arena", [&] { return inside.load(sync::acquire) == 2; });
    const pid_t waits = ::gettid();
    const std::jthread other([&] {
      await("a wait", [&] { return homing::testing::sleeps(waits); });
      refusals_left.store(10, sync::relaxed);
      arena.enqueue([&] { ran.store(true, sync::release); });
    });
    full.execute([] {});
    EXPECT_TRUE(ran.load(sync::acquire));
  });
}

TEST(threads_refused, where_no_thread_can_be_made_finalize_does_what_is_left) {
  in_own_process(four_by_two, [] {
    refusals_left.store(always, sync::relaxed);
    tbb::task_scheduler_handle handle{tbb::attach{}};
    sync::atomic<int> ran{0};
    {
      tbb::task_arena arena(2);
      for (int i = 0; i < 3; ++i) {
        arena.enqueue([&] { ran.fetch_add(1, sync::release); });
      }
    }
    EXPECT_TRUE(tbb::finalize(handle, std::nothrow));
    EXPECT_EQ(ran.load(sync::acquire), 3);
  });
}

/// Threads are refused while pushers rely on them: nobody may sleep over a task that was pushed meanwhile.
TEST(threads_refused, no_task_is_lost_while_every_other_thread_is_refused) {
  in_own_process(four_by_two, [] {
    refuses_every_other.store(true, sync::relaxed);
    for (int round = 0; round < 40; ++round) {
      const auto limit = threads(2 + static_cast<std::size_t>(round % 8));
      tbb::task_scheduler_handle handle{tbb::attach{}};
      std::vector<std::jthread> users;
      for (int u = 0; u < 3; ++u) {
        users.emplace_back([] {
          tbb::task_arena arena(4);
          sync::atomic<int> ran{0};
          for (int i = 0; i < 20; ++i) {
            arena.enqueue([&] { ran.fetch_add(1, sync::release); });
            static_cast<void>(threads_of_a_loop());
          }
          await("enqueued tasks", [&] { return ran.load(sync::acquire) == 20; });
        });
      }
      users.clear();
      static_cast<void>(tbb::finalize(handle, std::nothrow));  // the next round's workers are new
    }
  });
}

}  // namespace
