// Short loops and sums back to back over rows that have homes: with a distribution, and with the partitioners that
// people use instead. An index sums up a row of 16 values, each of its own. On stock oneTBB a loop with a distribution
// is one with static_partitioner.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/partitioner.h>
#include <homing/parallel_for.hpp>
#include <homing/parallel_reduce.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "../common/harness.hpp"

namespace {

using range = tbb::blocked_range<std::size_t>;
constexpr std::size_t rows = 1400, values_a_row = 16;

class matrix {
 public:
  [[nodiscard]] double sum_of(std::size_t row) const {
    double sum = 0;
    for (std::size_t k = 0; k != values_a_row; ++k) sum += values_[row * values_a_row + k];
    return sum;
  }

 private:
  std::vector<double> values_ = std::vector<double>(rows * values_a_row, 1.0);
};

/// `loop(range, body)` is one loop.
template <class Loop>
void loops_of(bench::session& session, const char* name, const matrix& of, Loop&& loop) {
  std::vector<double> sums(rows, 0.0);
  session.measure(name, [&](std::uint64_t iterations, bench::stopwatch& watch) {
    std::fill(sums.begin(), sums.end(), 0.0);
    watch.start();
    for (std::uint64_t i = 0; i != iterations; ++i) {
      loop(range(0, rows), [&](const range& part) {
        for (std::size_t row = part.begin(); row != part.end(); ++row) sums[row] += of.sum_of(row);
      });
    }
    watch.stop();
    const double expected = static_cast<double>(iterations * values_a_row);
    session.expect(std::all_of(sums.begin(), sums.end(), [&](double sum) { return sum == expected; }),
                   "each row is visited once a loop");
  });
}

/// `reduce(range, body)` is one sum.
template <class Reduce>
void sums_of(bench::session& session, const char* name, const matrix& of, Reduce&& reduce) {
  session.measure(name, [&](std::uint64_t iterations, bench::stopwatch& watch) {
    double all = 0;
    watch.start();
    for (std::uint64_t i = 0; i != iterations; ++i) {
      all += reduce(range(0, rows), [&](const range& part, double sum) {
        for (std::size_t row = part.begin(); row != part.end(); ++row) sum += of.sum_of(row);
        return sum;
      });
    }
    watch.stop();
    session.expect(all == static_cast<double>(iterations * rows * values_a_row), "each row counts once a sum");
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "home_loops");
  const matrix of;
  const homing::regular_distribution<> homes = homing::block(rows);
  const std::plus<> add;
  tbb::affinity_partitioner loop_affinity, sum_affinity;
  loops_of(session, "for_static", of,
           [](const range& all, const auto& body) { tbb::parallel_for(all, body, tbb::static_partitioner()); });
  loops_of(session, "for_affinity", of,
           [&](const range& all, const auto& body) { tbb::parallel_for(all, body, loop_affinity); });
  loops_of(session, "for_block", of,
           [&](const range& all, const auto& body) { homing::parallel_for(all, body, homes); });
  sums_of(session, "sum_static", of, [&](const range& all, const auto& body) {
    return tbb::parallel_reduce(all, 0.0, body, add, tbb::static_partitioner());
  });
  sums_of(session, "sum_affinity", of,
          [&](const range& all, const auto& body) { return tbb::parallel_reduce(all, 0.0, body, add, sum_affinity); });
  sums_of(session, "sum_block", of,
          [&](const range& all, const auto& body) { return homing::parallel_reduce(all, 0.0, body, add, homes); });
  return session.end();
}
