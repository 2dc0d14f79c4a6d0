#include "measure/spread.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace homing::measure {

spread summarize(std::vector<double> samples) {
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const auto quantile = [&](double q) {
    const double at = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(at));
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
  };
  return {sorted.front(), quantile(0.25), quantile(0.5), quantile(0.75), sorted.back(), std::move(samples)};
}

}  // namespace homing::measure
