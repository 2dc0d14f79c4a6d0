// Skynet: a tree of tasks with ten children each, whose leaves return their number.
#pragma once

#include <homing/placement.hpp>

#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "../common/variants.hpp"

namespace skynet {

using programs::request;

inline constexpr std::uint64_t fan_out = 10;
using sums_of_children = std::array<std::uint64_t, fan_out>;
[[nodiscard]] inline std::uint64_t total(const sums_of_children& sums) {
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

class problem {
 public:
  explicit problem(const request& r) : leaves_(leaves[r.size]) {}
  void reset() {}
  [[nodiscard]] std::string wrong() const {
    return result_ == leaves_ * (leaves_ - 1) / 2 ? "" : "the sum is " + std::to_string(result_);
  }
  /// Millions of leaves.
  [[nodiscard]] double amount() const { return static_cast<double>(leaves_) / 1e6; }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {}; }

 protected:
  std::uint64_t leaves_;
  std::uint64_t result_ = 0;

 private:
  static constexpr std::uint64_t leaves[] = {10'000, 1'000'000, 100'000'000};
};

inline constexpr programs::size_name sizes[] = {
    {"10k", "10,000 leaves"}, {"1M", "a million leaves"}, {"100M", "a hundred million"}};
[[nodiscard]] inline programs::description about() noexcept {
  return {"skynet", "A tree of tasks, ten children each.", "Mleaf", sizes};
}

}  // namespace skynet
