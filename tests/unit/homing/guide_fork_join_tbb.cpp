// The code of docs/guide/fork_join.md, compiled and run (tests/tidy/snippets.py holds page and program together).
#include <gtest/gtest.h>
#include <oneapi/tbb/task_group.h>
#include <homing/fork_join.hpp>

#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "unit/common/own_process.hpp"

namespace {

long fib(int n) {
  if (n < 2) return n;
  const auto [left, right] = homing::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return left + right;
}

struct tree {
  int value = 0;
  std::vector<tree> children;
};

long sum_of(const tree& t) {
  std::vector<long> sums(t.children.size());
  homing::for_children(std::size_t{0}, sums.size(), [&](std::size_t i) { sums[i] = sum_of(t.children[i]); });
  return std::accumulate(sums.begin(), sums.end(), long{t.value});
}

double weigh(std::span<const double> part) { return std::accumulate(part.begin(), part.end(), 0.0); }

TEST(guide, forks) {
  EXPECT_EQ(fib(15), 610);
  EXPECT_EQ(sum_of({1, {{2, {}}, {3, {{4, {}}}}}}), 10);
}

TEST(guide, forks_with_addresses) {
  homing::testing::in_own_process({{"HOMING_TOPOLOGY", "node:2 core:2 pu:1"}}, [] {
    const std::array<std::vector<double>, 2> halves{std::vector<double>(100, 1.0), std::vector<double>(50, 2.0)};
    const auto [left, right] = homing::fork_join(
        homing::on(0U), [&] { return weigh(halves[0]); },  //
        homing::on(1U), [&] { return weigh(halves[1]); });
    EXPECT_EQ(left + right, 200);
  });
}

TEST(guide, forks_of_a_group) {
  tbb::task_group_context context;
  std::array<bool, 2> has_run{};
  homing::fork_join(
      context, [&] { has_run[0] = true; }, [&] { has_run[1] = true; });
  EXPECT_TRUE(has_run[0] && has_run[1]);
}

}  // namespace
