// A worker has a name of ours, unless the program has given it one.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "unit/common/await.hpp"

namespace {

using homing::testing::await;

std::string name_of_this_thread() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

/// Names each thread once, as programs do that debuggers shall show them well.
struct naming_observer : tbb::task_scheduler_observer {
  explicit naming_observer(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~naming_observer() override { observe(false); }
  void on_scheduler_entry(bool is_worker) override {
    thread_local bool is_named = false;
    if (is_worker && !is_named) {
      is_named = true;
      pthread_setname_np(pthread_self(), "mine");
    }
  }
};

TEST(thread_names, a_name_that_the_program_gave_stays) {
  const tbb::global_control one_worker(tbb::global_control::max_allowed_parallelism, 2);
  tbb::task_arena first(2, 1);
  tbb::task_arena second(2, 1);
  naming_observer of_first(first);
  naming_observer of_second(second);
  std::mutex lock;
  std::set<std::string> names;
  // It is named after its first stay in an arena.
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> ran{false};
    (round % 2 == 0 ? first : second).enqueue([&] {
      const std::lock_guard hold(lock);
      names.insert(name_of_this_thread());
      ran = true;
    });
    await("the worker", [&] { return ran.load(); });
  }
  EXPECT_EQ(names, std::set<std::string>{"mine"});
}

}  // namespace
