// Sums and running sums over an array: the reductions, whose bodies are split and joined.
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/parallel_scan.h>

#include <numeric>

#include "../common/harness.hpp"

namespace {

using range = tbb::blocked_range<std::size_t>;
using numbers = std::vector<std::uint64_t>;

std::uint64_t sum_part(const numbers& values, const range& part, std::uint64_t sum) {
  for (std::size_t index = part.begin(); index != part.end(); ++index) sum += values[index];
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "reduce");
  numbers values(200'000);
  for (std::size_t index = 0; index < values.size(); ++index) {
    values[index] = bench::mix(session.seed() + index);
  }
  const std::uint64_t answer = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  const auto add = [](std::uint64_t left, std::uint64_t right) { return left + right; };

  session.measure("auto", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      const std::uint64_t sum = tbb::parallel_reduce(
          range(0, values.size()), std::uint64_t{0},
          [&](const range& part, std::uint64_t partial) { return sum_part(values, part, partial); }, add);
      session.expect(sum == answer, "the sum");
    }
  });
  session.measure("deterministic", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      const std::uint64_t sum = tbb::parallel_deterministic_reduce(
          range(0, values.size(), 100), std::uint64_t{0},
          [&](const range& part, std::uint64_t partial) { return sum_part(values, part, partial); }, add);
      session.expect(sum == answer, "the sum");
    }
  });

  numbers sums(values.size());
  session.measure("scan", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      const std::uint64_t sum = tbb::parallel_scan(
          range(0, values.size()), std::uint64_t{0},
          [&](const range& part, std::uint64_t partial, bool is_final) {
            for (std::size_t index = part.begin(); index != part.end(); ++index) {
              partial += values[index];
              if (is_final) sums[index] = partial;
            }
            return partial;
          },
          add);
      session.expect(sum == answer && sums.back() == answer, "the last running sum");
    }
  });
  return session.end();
}
