/// Repeated runs summed up: the median, and how far the others lie from it.
#pragma once

#include <cstddef>
#include <vector>

namespace homing::measure {

struct spread {
  double min = 0;
  double q1 = 0;
  double median = 0;
  double q3 = 0;
  double max = 0;
  std::vector<double> samples;  ///< as they were measured, in that order
};

/// Quartiles as R's type 7 and NumPy have them: linear between the two nearest. `samples` is not empty.
[[nodiscard]] spread summarize(std::vector<double> samples);

}  // namespace homing::measure
