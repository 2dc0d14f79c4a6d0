#include "distribution/apportion.hpp"

#include <algorithm>
#include <numeric>

namespace homing::distribution {
namespace {

__extension__ using wide = unsigned __int128;  // a 64-bit count times a 32-bit weight

}  // namespace

std::vector<std::uint64_t> apportion(std::uint64_t total, std::span<const std::uint64_t> weights) {
  const auto sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<std::uint64_t> shares;
  std::vector<std::uint64_t> remainders;
  std::uint64_t left = total;
  for (const std::uint64_t w : weights) {
    const wide exact = static_cast<wide>(total) * w;
    shares.push_back(static_cast<std::uint64_t>(exact / sum));
    remainders.push_back(static_cast<std::uint64_t>(exact % sum));
    left -= shares.back();
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return remainders[a] > remainders[b]; });
  for (std::uint64_t i = 0; i < left; ++i) ++shares[order[i]];  // left < the number of remainders above 0
  return shares;
}

std::vector<std::uint64_t> spread(std::span<const std::uint64_t> shares) {
  const auto sum = static_cast<std::int64_t>(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}));
  std::vector<std::int64_t> credit(shares.size(), 0);
  std::vector<std::uint64_t> order;
  order.reserve(static_cast<std::size_t>(sum));
  for (std::int64_t turn = 0; turn < sum; ++turn) {
    for (std::size_t p = 0; p < shares.size(); ++p) credit[p] += static_cast<std::int64_t>(shares[p]);
    const auto best = std::max_element(credit.begin(), credit.end());  // the first of equals
    *best -= sum;
    order.push_back(static_cast<std::uint64_t>(best - credit.begin()));
  }
  return order;
}

}  // namespace homing::distribution
