/// The tables of weighted axes.
#include <homing/axis.hpp>

#include <numeric>
#include <vector>

#include "distribution/apportion.hpp"

namespace homing {
namespace {

constexpr std::uint64_t slot_count_max = 4096;

// The first unit of each part, then the end.
std::vector<std::uint64_t> block_bounds(std::uint64_t units, std::span<const std::uint64_t> weights) {
  std::vector<std::uint64_t> bounds{0};
  for (const std::uint64_t share : distribution::apportion(units, weights)) bounds.push_back(bounds.back() + share);
  return bounds;
}

// The part of each slot of a round, then each part's number of slots. Weights whose sum is small, once they are
// divided by their common divisor, are their own shares; others are brought to slot_count_max.
std::vector<std::uint64_t> round_of(std::span<const std::uint64_t> weights) {
  std::uint64_t divisor = 0;
  std::uint64_t sum = 0;
  for (const std::uint64_t w : weights) {
    divisor = std::gcd(divisor, w);
    sum += w;
  }
  const std::uint64_t slots = std::min(sum / divisor, slot_count_max);
  const auto shares = distribution::apportion(slots, weights);
  auto table = distribution::spread(shares);
  table.insert(table.end(), shares.begin(), shares.end());
  return table;
}

}  // namespace

axis::axis(rule how, std::size_t extent, const weights& w, std::size_t grain)
    : axis(how, extent, static_cast<std::uint32_t>(w.values().size()), grain) {
  table_ = detail::shared_table(how == rule::block ? block_bounds(units(), w.values()) : round_of(w.values()));
}

axis axis::block(std::size_t extent, const weights& w, std::size_t grain) { return {rule::block, extent, w, grain}; }
axis axis::cyclic(std::size_t extent, const weights& w) { return {rule::cyclic, extent, w, 1}; }
axis axis::block_cyclic(std::size_t extent, const weights& w, std::size_t block) {
  return {rule::cyclic, extent, w, block};
}

}  // namespace homing
