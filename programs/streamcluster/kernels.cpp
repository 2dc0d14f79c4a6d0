#include "kernels.hpp"

#include <algorithm>
#include <cmath>

namespace streamcluster {

float distance(const float* a, const float* b, std::size_t dims) noexcept {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < dims; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

double assign_first(const points& p, const float* centre, std::size_t first, std::size_t last) noexcept {
  double sum = 0;
  for (std::size_t i = first; i < last; ++i) {
    p.owner[i] = 0;
    p.cost[i] = p.weight[i] * distance(p.point(i), centre, p.dims);
    sum += static_cast<double>(p.cost[i]);
  }
  return sum;
}

double assign_nearer(const points& p, const float* centre, std::uint32_t number, std::size_t first,
                     std::size_t last) noexcept {
  double won = 0;
  for (std::size_t i = first; i < last; ++i) {
    const float cost = p.weight[i] * distance(p.point(i), centre, p.dims);
    if (cost < p.cost[i]) {
      won += static_cast<double>(p.cost[i]) - static_cast<double>(cost);
      p.cost[i] = cost;
      p.owner[i] = number;
    }
  }
  return won;
}

double gain(const points& p, const float* centre, std::size_t first, std::size_t last,
            std::span<double> losses) noexcept {
  double won = 0;
  for (std::size_t i = first; i < last; ++i) {
    const float cost = p.weight[i] * distance(p.point(i), centre, p.dims);
    const double difference = static_cast<double>(p.cost[i]) - static_cast<double>(cost);
    if (difference > 0) {
      won += difference;
    } else {
      losses[p.owner[i]] -= difference;
    }
  }
  return won;
}

void reassign(const points& p, const float* centre, std::uint32_t number, std::size_t first, std::size_t last,
              std::span<const std::uint8_t> closing, std::span<const std::uint32_t> renumbered) noexcept {
  for (std::size_t i = first; i < last; ++i) {
    const float cost = p.weight[i] * distance(p.point(i), centre, p.dims);
    if (cost < p.cost[i] || closing[p.owner[i]] != 0) {
      p.cost[i] = cost;
      p.owner[i] = number;
    } else {
      p.owner[i] = renumbered[p.owner[i]];
    }
  }
}

void second_nearest(const points& p, std::span<const std::uint32_t> centres, std::size_t first, std::size_t last,
                    std::span<float> second) noexcept {
  for (std::size_t i = first; i < last; ++i) {
    second[i] = HUGE_VALF;
    for (std::size_t c = 0; c < centres.size(); ++c) {
      if (c == p.owner[i]) continue;
      second[i] = std::min(second[i], p.weight[i] * distance(p.point(i), p.point(centres[c]), p.dims));
    }
  }
}

double exchange_gain(const points& p, const float* centre, std::size_t first, std::size_t last,
                     std::span<const float> second, std::span<double> losses) noexcept {
  double won = 0;
  for (std::size_t i = first; i < last; ++i) {
    const float cost = p.weight[i] * distance(p.point(i), centre, p.dims);
    const float now = std::min(cost, p.cost[i]);
    won += static_cast<double>(p.cost[i] - now);
    losses[p.owner[i]] += static_cast<double>(std::min(cost, second[i]) - now);
  }
  return won;
}

}  // namespace streamcluster
