// [A25] Worker threads are made several at a time, and who finds every place taken by one that is being made does not
// give up before it is known whether it comes to be. The test's own pthread_create() stands before the C library's, and
// holds the library's calls up.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <pthread.h>

#include <cerrno>
#include <thread>

#include "runtime/workers/resource_manager.hpp"
#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/made_threads.hpp"
#include "unit/common/own_process.hpp"

namespace {

namespace sync = homing::sync;
using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::threads;

constinit sync::atomic<int> inside{0};
constinit sync::atomic<int> wait_for{0};  ///< calls that are inside at once before any returns; 0: nobody waits
constinit sync::atomic<bool> held{false};
constinit sync::atomic<int> refusals_left{0};

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) noexcept {
  using homing::testing::real_pthread_create;
  if (!homing::testing::is_for_a_worker(attributes)) return real_pthread_create(thread, attributes, start, argument);
  inside.fetch_add(1, sync::seq_cst);
  while (held.load(sync::seq_cst) || inside.load(sync::seq_cst) < wait_for.load(sync::seq_cst)) sched_yield();
  wait_for.store(0, sync::seq_cst);
  return refusals_left.load(sync::relaxed) > 0 && refusals_left.fetch_sub(1, sync::relaxed) > 0
             ? EAGAIN
             : real_pthread_create(thread, attributes, start, argument);
}

namespace {

const homing::testing::environment four_by_two = on_machine("node:4 core:2 pu:1");

void wait_for_a_worker() { homing::testing::have_a_worker_come(2); }

/// [S19] One spawned task, whoever runs it, is enough for the first worker to have two more made, and so on.
TEST(threads_made, all_at_the_first_work) {
  in_own_process(on_machine("node:1 core:8 pu:1"), [] {
    const auto limit = threads(8);
    tbb::task_group group;
    group.run([] {});
    group.wait();
    await("all workers", [] { return inside.load(sync::seq_cst) == 7; });
  });
}

/// Neither call of pthread_create() returns before both are there. Of two that enqueue at the same moment, one may
/// serve both, and makes one thread after the other: the second comes later.
TEST(threads_made, two_at_a_time) {
  in_own_process(four_by_two, [] {
    wait_for.store(2, sync::seq_cst);
    std::jthread other(wait_for_a_worker);
    await("a thread that is being made", [] { return inside.load(sync::seq_cst) == 1; });
    wait_for_a_worker();
    EXPECT_GE(inside.load(sync::seq_cst), 2);
  });
}

/// The only worker is being made for another arena, and refused. Whether the enqueuer finds the place taken, free again
/// or refused, nobody calls the library after it.
TEST(threads_made, an_enqueue_meanwhile_learns_of_a_refusal) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(2);
    refusals_left.store(1, sync::relaxed);
    held.store(true, sync::seq_cst);
    sync::atomic<bool> calls{false};
    sync::atomic<bool> ran{false};
    tbb::task_arena first(2);
    tbb::task_arena second(2);
    std::jthread maker([&] {
      first.execute([] {
        tbb::task_group group;
        group.run([] {});
        group.wait();
      });
    });
    await("a thread that is being made", [] { return inside.load(sync::seq_cst) == 1; });
    std::jthread caller([&] {
      calls.store(true, sync::seq_cst);
      second.enqueue([&] { ran.store(true, sync::release); });
    });
    await("a second call", [&] { return calls.load(sync::seq_cst); });
    held.store(false, sync::seq_cst);
    caller.join();
    maker.join();
    await("an enqueued task", [&] { return ran.load(sync::acquire); });
  });
}

/// finalize() waits for the threads that are being made, and ends them.
TEST(threads_made, are_ended_by_finalize) {
  in_own_process(four_by_two, [] {
    for (int round = 0; round < 20; ++round) {
      tbb::task_scheduler_handle handle{tbb::attach{}};
      std::jthread others[2] = {std::jthread(wait_for_a_worker), std::jthread(wait_for_a_worker)};
      for (std::jthread& other : others) other.join();
      EXPECT_TRUE(tbb::finalize(handle, std::nothrow));
      EXPECT_TRUE(homing::scheduler::resource_manager::current().is_idle());
    }
  });
}

}  // namespace
