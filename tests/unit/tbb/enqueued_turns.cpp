// Where no worker is allowed, one serves what is enqueued, in each arena by turns, also if one of them always has more.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "unit/common/await.hpp"

namespace {

using homing::testing::await;
using tbb::task_arena;

/// A task of its own kind after each, for some microseconds: the arena never runs dry.
struct endless {
  task_arena& arena;
  std::atomic<bool>& stop;
  std::atomic<int>& left;
  void operator()() const {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
         std::chrono::steady_clock::now() < end;) {
    }
    if (stop) {
      --left;
    } else {
      arena.enqueue(*this);
    }
  }
};

void expect_turns(int chains) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  task_arena busy(2), other(2);
  std::atomic<bool> stop{false};
  std::atomic<int> left{chains};
  for (int i = 0; i < chains; ++i) busy.enqueue(endless{busy, stop, left});
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> ran{false};
    other.enqueue([&] { ran = true; });
    await("what was enqueued in the other arena", [&] { return ran.load(); });
  }
  stop = true;
  await("the end of the chains", [&] { return left == 0; });
}

TEST(enqueued_turns, come_to_each_arena) {
  expect_turns(1);
  expect_turns(2);
}

}  // namespace
