// Workers end when nobody uses the library any more, so that a process can end without them.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "unit/common/await.hpp"
#include "unit/common/forked_child.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/real_pthread_create.hpp"
#include "unit/common/slow_end.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::slow_end;
using homing::testing::worker_threads;

std::atomic<int> enders{0};  ///< that were made

}  // namespace

/// Stands before the C library's.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) noexcept {
  if (homing::testing::is_for_the_ender(attributes)) ++enders;
  return homing::testing::real_pthread_create(thread, attributes, start, argument);
}

namespace {

constexpr int iterations = 1000;

int loop() {
  std::atomic<int> ran{0};
  tbb::parallel_for(0, iterations, [&](int) { ++ran; });
  return ran;
}

/// A loop with workers, in a thread that ends.
void loop_elsewhere() {
  std::thread([] {
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 4);
    EXPECT_EQ(loop(), iterations);
    tbb::task_arena().execute([] { EXPECT_EQ(loop(), iterations); });
    await("a worker", [] { return !worker_threads().empty(); });
  }).join();
}

// This program's first thread uses nothing of the library's itself, but within a child.
TEST(last_user, takes_the_workers_along) {
  for (int round = 0; round < 3; ++round) {
    loop_elsewhere();
    await("the end of the workers", [] { return worker_threads().empty(); });
  }
}

TEST(last_user, is_a_task_arena_too) {
  in_own_process({}, [] {  // where no ender is left of another test
    std::optional<tbb::task_arena> arena;
    std::thread([&] { arena.emplace(4).execute([] { EXPECT_EQ(loop(), iterations); }); }).join();
    loop_elsewhere();
    EXPECT_EQ(enders, 0);
    EXPECT_FALSE(worker_threads().empty());
    arena.reset();
    EXPECT_EQ(enders, 1);
    await("the end of the workers", [] { return worker_threads().empty(); });
  });
}

TEST(last_user, leaves_what_was_enqueued_to_be_done) {
  std::atomic<int> ran{0};
  std::thread([&] {
    tbb::task_arena arena(4);
    for (int i = 0; i < iterations; ++i) arena.enqueue([&] { ++ran; });
  }).join();
  await("all that was enqueued", [&] { return ran == iterations; });
  await("the end of the workers", [] { return worker_threads().empty(); });
}

/// A worker that ends is held there. Whoever comes meanwhile must not have to wait for it.
TEST(last_user, leaves_workers_to_who_comes_meanwhile) {
  slow_end::held.store(true);
  std::thread([] {
    std::atomic<bool> ran{false};
    tbb::task_arena arena(4);
    arena.enqueue([&] {
      slow_end::at_end_of_this_thread();
      ran = true;
    });
    await("the first worker", [&] { return ran.load(); });
  }).join();
  await("the end of the workers", [] { return slow_end::ends.load(); });
  std::thread([] {
    std::atomic<bool> ran{false};
    tbb::task_arena arena(4);
    arena.enqueue([&] { ran = true; });
    await("a task that is enqueued while the last worker ends", [&] { return ran.load(); });
  }).join();
  slow_end::held.store(false);
  await("the end of the workers", [] { return worker_threads().empty(); });
}

/// A child process that ends with its last thread. It is made by a thread of its own, for pthread_exit() unwinds the
/// stack, and GoogleTest would take that for an exception.
struct child_of_threads {
  void (*body)();
  bool has_ended_well = false;

  static void* run(void* argument) {
    auto& self = *static_cast<child_of_threads*>(argument);
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      self.body();
      pthread_exit(nullptr);
    }
    int status = -1;
    while (waitpid(child, &status, 0) != child) {
    }
    self.has_ended_well = status == 0;
    return nullptr;
  }
};

bool ends(void (*body)()) {
  child_of_threads child{body};
  pthread_t maker{};
  EXPECT_EQ(pthread_create(&maker, nullptr, &child_of_threads::run, &child), 0);
  EXPECT_EQ(pthread_join(maker, nullptr), 0);
  return child.has_ended_well;
}

TEST(last_user, lets_a_process_end_by_its_threads) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  EXPECT_TRUE(ends([] { static_cast<void>(loop()); })) << "a loop in the first thread";
  EXPECT_TRUE(ends([] { loop_elsewhere(); })) << "a loop in another thread";
  EXPECT_TRUE(ends([] { std::thread([] { loop(); }).detach(); })) << "a loop in a thread that nobody waits for";
  EXPECT_TRUE(ends([] { tbb::task_arena(4).enqueue([] { loop(); }); })) << "a task that nobody waits for";
}

}  // namespace
