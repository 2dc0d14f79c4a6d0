// Who raises the limit has workers come for what lies there: its own tasks, in whichever of its arenas, and what
// another thread spawns at that moment. None of those threads runs a task meanwhile.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <optional>
#include <thread>

#include "unit/common/await.hpp"

namespace {

using homing::testing::await;

constexpr int rounds = 20'000;

/// While it lives no worker may run anything.
std::optional<tbb::global_control> one_thread() {
  return std::optional<tbb::global_control>(std::in_place, tbb::global_control::max_allowed_parallelism, 1);
}

TEST(raised_limit, calls_a_worker_for_what_its_own_thread_has_spawned) {
  tbb::task_arena arena(2);
  for (int round = 0; round < rounds; ++round) {
    std::atomic<bool> ran{false};
    arena.execute([&] {
      tbb::task_group group;
      auto limit = one_thread();
      group.run([&] { ran = true; });
      limit.reset();
      await("a worker in the arena", [&] { return ran.load(); });
      group.wait();
    });
  }
}

TEST(raised_limit, calls_a_worker_for_what_its_own_thread_has_spawned_in_an_outer_arena) {
  tbb::task_arena outer(2);
  tbb::task_arena inner(2);
  for (int round = 0; round < rounds; ++round) {
    std::atomic<bool> ran{false};
    outer.execute([&] {
      tbb::task_group group;
      auto limit = one_thread();
      group.run([&] { ran = true; });
      inner.execute([&] {
        limit.reset();
        await("a worker in the outer arena", [&] { return ran.load(); });
      });
      group.wait();
    });
  }
}

TEST(raised_limit, calls_a_worker_for_what_another_thread_spawns_meanwhile) {
  tbb::task_arena arena(2);
  std::optional<tbb::global_control> limit;
  std::atomic<int> round{0};
  std::atomic<int> raised{0};
  std::thread raiser([&] {
    for (int next = 1; next <= rounds; ++next) {
      while (round != next) {
        std::this_thread::yield();
      }
      limit.reset();
      raised = next;
    }
  });
  for (int next = 1; next <= rounds; ++next) {
    std::atomic<bool> ran{false};
    arena.execute([&] {
      tbb::task_group group;
      limit.emplace(tbb::global_control::max_allowed_parallelism, 1);
      group.run_and_wait([] {});  // the arena has been told of work, and asks for no worker again
      round = next;
      group.run([&] { ran = true; });
      await("a worker in the arena", [&] { return ran.load(); });
      group.wait();
    });
    await("the limit raised", [&] { return raised == next; });
  }
  raiser.join();
}

}  // namespace
