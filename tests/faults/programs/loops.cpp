// Every kind of loop and partitioner: each item once, or an exception and no item under way any more.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include <array>

#include "faults.hpp"

namespace {

constexpr int count = 300;
using range = tbb::blocked_range<int>;

template <class Partitioner>
void loop(Partitioner&& how) {
  static std::atomic<int> sum;
  sum = 0;
  tbb::parallel_for(
      range(0, count),
      [](const range& part) {
        for (int i = part.begin(); i != part.end(); ++i) sum += i;
      },
      how);
  faults::require(sum == count * (count - 1) / 2, "parallel_for: not each item once");
}

void folds() {
  const int sum = tbb::parallel_reduce(
      range(0, count), 0,
      [](const range& part, int so_far) {
        for (int i = part.begin(); i != part.end(); ++i) so_far += i;
        return so_far;
      },
      [](int a, int b) { return a + b; });
  faults::require(sum == count * (count - 1) / 2, "parallel_reduce: not each item once");
  static std::array<int, count> sums;
  tbb::parallel_scan(
      range(0, count), 0,
      [](const range& part, int before, bool is_final) {
        for (int i = part.begin(); i != part.end(); ++i) {
          before += i;
          if (is_final) sums[static_cast<std::size_t>(i)] = before;
        }
        return before;
      },
      [](int a, int b) { return a + b; });
  for (int i = 0; i < count; ++i) {
    faults::require(sums[static_cast<std::size_t>(i)] == i * (i + 1) / 2, "parallel_scan: a wrong sum");
  }
}

void items() {
  static std::array<int, 1000> values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 7919 % 1000);
  tbb::parallel_sort(values.begin(), values.end());
  for (int i = 0; i < 1000; ++i) faults::require(values[static_cast<std::size_t>(i)] == i, "parallel_sort: not sorted");

  static std::atomic<int> seen;
  seen = 0;
  tbb::parallel_for_each(values.begin(), values.begin() + 30, [](int value, tbb::feeder<int>& more) {
    ++seen;
    if (value < 10) more.add(value + 100);
  });
  faults::require(seen == 40, "parallel_for_each: not each item once");
  seen = 0;
  tbb::parallel_invoke([] { ++seen; }, [] { ++seen; }, [] { ++seen; });
  faults::require(seen == 3, "parallel_invoke: not each function once");
}

void nested() {
  static std::atomic<int> seen;
  seen = 0;
  tbb::parallel_for(0, 8, [](int) { tbb::parallel_for(0, 16, [](int) { ++seen; }); });
  faults::require(seen == 128, "nested loops: not each item once");
}

}  // namespace

int main() {
  return faults::check([] {
    loop(tbb::auto_partitioner());
    loop(tbb::simple_partitioner());
    loop(tbb::static_partitioner());
    tbb::affinity_partitioner affinity;
    for (int i = 0; i < 3; ++i) loop(affinity);
    folds();
    items();
    nested();
  });
}
