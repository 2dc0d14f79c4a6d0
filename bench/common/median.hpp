/// The middle of some repetitions' values; of an even number, the mean of the two in the middle.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

namespace bench {

/// `values` is not empty.
[[nodiscard]] inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return std::midpoint(values[(values.size() - 1) / 2], values[values.size() / 2]);
}

}  // namespace bench
