// Observers: whoever is let in is let out, several threads may switch one off at once, and a worker that an observer
// holds up keeps nobody else from coming.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <atomic>
#include <thread>
#include <vector>

#include "unit/await.hpp"

namespace {

using homing::testing::await;

class counting_observer : public tbb::task_scheduler_observer {
 public:
  explicit counting_observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~counting_observer() override { observe(false); }
  counting_observer(const counting_observer&) = delete;
  counting_observer& operator=(const counting_observer&) = delete;
  void on_scheduler_entry(bool) override { ++entries; }
  void on_scheduler_exit(bool) override { ++exits; }

  std::atomic<int> entries{0};
  std::atomic<int> exits{0};
};

TEST(observer, sees_every_thread_that_enters_leave_again) {
  tbb::task_arena arena(4);
  counting_observer observer(arena);
  constexpr int visits = 1000;
  for (int i = 0; i < visits; ++i) {
    arena.execute([] { tbb::parallel_for(0, 64, [](int) {}); });
  }
  await("the exit of every thread that entered", [&] { return observer.entries == observer.exits; });
  EXPECT_GE(observer.entries, visits);
}

/// Threads come and go meanwhile, so that callbacks are in flight.
TEST(observer, can_be_switched_off_by_several_threads_at_once) {
  constexpr unsigned rounds = 20'000;
  constexpr unsigned thread_count = 4;
  tbb::task_arena arena(3);
  counting_observer observer(arena);
  std::atomic<unsigned> round{0};
  std::atomic<unsigned> ready{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      for (unsigned mine = 1; mine <= rounds; ++mine) {
        await("the start of a round", [&] { return round >= mine; });
        observer.observe(false);
        ++ready;
      }
    });
  }
  for (unsigned i = 1; i <= rounds; ++i) {
    observer.observe(true);
    arena.enqueue([] {});
    round = i;
    await("all threads to have switched it off", [&] { return ready == i * thread_count; });
    ASSERT_FALSE(observer.is_observing());
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

class holding_observer : public tbb::task_scheduler_observer {
 public:
  explicit holding_observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~holding_observer() override { observe(false); }
  holding_observer(const holding_observer&) = delete;
  holding_observer& operator=(const holding_observer&) = delete;
  void on_scheduler_entry(bool is_worker) override {
    if (is_worker && !first_held.exchange(true)) {
      held = true;
      await("the task, which another worker should have run", [&] { return over.load(); });
    }
  }

  std::atomic<bool> first_held{false};
  std::atomic<bool> held{false};
  std::atomic<bool> over{false};
};

/// [S8]: the first worker that comes sits in the observer; nobody but workers may take the task.
TEST(observer, holds_up_no_task_that_another_worker_can_take) {
  const tbb::global_control three(tbb::global_control::max_allowed_parallelism, 3);
  for (int round = 0; round < 200; ++round) {
    tbb::task_arena arena(3, 1);
    holding_observer observer(arena);
    arena.enqueue([&] { observer.over = true; });
    await("the end of the task", [&] { return observer.over.load(); });
  }
}

}  // namespace
