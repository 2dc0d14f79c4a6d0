// A program of two files that fork, optimised as a whole (-flto), each file in a part of its own: both find the
// thread's lane, which only assembly names in one of them.
#include <gtest/gtest.h>
#include <homing/fork_join.hpp>

#include "unit/whole_program/other.hpp"

namespace {

long fibonacci(int n) {
  if (n < 2) {
    return n;
  }
  const auto [left, right] = homing::fork_join([n] { return fibonacci(n - 1); }, [n] { return fibonacci(n - 2); });
  return left + right;
}

TEST(whole_program, both_files_fork) {
  EXPECT_EQ(fibonacci(20), 6765);
  EXPECT_EQ(fibonacci_elsewhere(20), 6765);
}

}  // namespace
