/// What tests of fork and join share: a tree with a known answer, helpers, branches that meet, exceptions.
#pragma once

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/fork_join.hpp>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "unit/common/await.hpp"

namespace homing::testing {

using parallelism = tbb::global_control;

inline bool on_stock() { return std::getenv("HOMING_TEST_STOCK") != nullptr; }

inline long fib(int n) {
  if (n < 2) return n;
  const auto [left, right] = fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return left + right;
}
inline constexpr int fib_argument = 20;
inline constexpr long fib_answer = 6765;

/// `body` on eight threads, whatever the machine has.
template <class Body>
void with_helpers(Body&& body) {
  const parallelism eight(parallelism::max_allowed_parallelism, 8);
  tbb::task_arena arena(8);
  arena.execute(body);
}

/// Two branches that each wait for the other to begin: only two threads can run them.
template <class Second>
void meet(Second&& fork) {
  std::atomic<int> begun{0};
  const auto attend = [&] {
    begun.fetch_add(1);
    await("the other branch", [&] { return begun.load() == 2; });
  };
  fork(attend, attend);
}

struct failure : std::runtime_error {
  explicit failure(int which) : std::runtime_error("branch"), branch(which) {}
  int branch;
};

template <class Call>
int thrown_by(Call&& call) {
  try {
    call();
  } catch (const failure& f) {
    return f.branch;
  }
  return 0;
}

/// Branches that all throw, and count themselves: for the thread that made it alone.
class throwing_branches {
 public:
  [[nodiscard]] auto without_value() {
    return [this] { begin(); };
  }
  [[nodiscard]] auto with_value() {
    return [this]() -> int {
      begin();
      return 0;
    };
  }
  /// Of those of a fork one begins, whichever that is, and its exception comes back.
  template <class Fork>
  void expect_one_begins(Fork&& fork) {
    begun_ = 0;
    EXPECT_EQ(thrown_by(fork), 1);
    EXPECT_EQ(begun_, 1);
  }

 private:
  void begin() {
    ++begun_;
    throw failure(1);
  }
  int begun_ = 0;
};

}  // namespace homing::testing
