// What a fork costs over a call: recursive programs as calls, by homing::fork_join() and by task_group. On stock oneTBB
// fork_join() is parallel_invoke().
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../common/harness.hpp"
#include "recursions.hpp"

namespace {

using bench::recursions;
using bench::session;

template <typename Style>
void measure_trees(session& s, const std::string& style) {
  using program = recursions<Style>;
  const auto measure = [&](const std::string& name, auto body) {
    s.measure(name + "_" + style, [body](std::uint64_t iterations) {
      for (std::uint64_t i = 0; i < iterations; ++i) body();
    });
  };
  measure("fib", [&s] { s.expect(program::fib(bench::opaque(24)) == 46'368, "fib(24) is 46368"); });
  measure("integrate", [&s] {
    const double to = bench::opaque(60.0);
    const double area = program::integrate(0, 0, to, program::curve(to), 0);
    s.expect(std::abs(area - (to * to * to * to / 4 + to * to / 2)) < 1e-2, "the area below x^3 + x");
  });
  measure("queens", [&s] { s.expect(program::queens(bench::opaque(9U), 0, 0, 0, 0) == 352, "352 solutions"); });
  measure("uts_geometric", [&s] {
    s.expect(program::template search<bench::geometric_tree>(bench::root_of_all_trees) == bench::geometric_tree::nodes,
             "the number of nodes of the tree");
  });
  measure("uts_binomial", [&s] {
    s.expect(program::template search<bench::binomial_tree>(bench::root_of_all_trees) == bench::binomial_tree::nodes,
             "the number of nodes of the tree");
  });
  measure("skynet", [&s] {
    s.expect(program::skynet(0, bench::opaque(std::uint64_t{100'000})) == 4'999'950'000, "the sum of all leaves");
  });
}

template <typename Style>
void measure_arrays(session& s, const std::string& style) {
  using program = recursions<Style>;
  constexpr std::size_t items = 1 << 16;
  std::vector<std::uint32_t> unsorted(items);
  for (std::size_t i = 0; i < items; ++i) unsorted[i] = static_cast<std::uint32_t>(bench::mix(s.seed() + i));
  std::vector<std::uint32_t> data(items);
  std::vector<std::uint32_t> room(items);
  s.measure("cilksort_" + style, [&](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) {
      data = unsorted;
      program::cilksort(data, room);
      s.expect(std::is_sorted(data.begin(), data.end()), "the items in order");
    }
  });
  static constexpr std::size_t size = 128;
  const std::vector<double> ones(size * size, 1.0);
  std::vector<double> product(size * size);
  s.measure("matmul_" + style, [&](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) {
      std::fill(product.begin(), product.end(), 0.0);
      program::multiply(ones.data(), ones.data(), product.data(), size, size);
      s.expect(std::all_of(product.begin(), product.end(), [](double x) { return x == double{size}; }),
               "each element is the number of rows");
    }
  });
}

template <typename Style>
void measure_all(session& s, const std::string& style) {
  measure_trees<Style>(s, style);
  measure_arrays<Style>(s, style);
}

}  // namespace

int main(int argc, char** argv) {
  session s(argc, argv, "forks");
  measure_all<bench::serial_calls>(s, "serial");
  measure_all<bench::forks_of_values>(s, "values");
  measure_trees<bench::forks_by_reference>(s, "references");
  measure_all<bench::task_groups>(s, "task_group");
  return s.end();
}
