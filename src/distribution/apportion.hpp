/// Dividing a whole number of things in proportion to weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace homing::distribution {

/// Hamilton's method: floor(total * w / sum) each, then one more to the largest remainders, lower places first if
/// equal. The shares add up to `total`; weights (at most 2^32 each, not all zero) of zero get nothing.
[[nodiscard]] std::vector<std::uint64_t> apportion(std::uint64_t total, std::span<const std::uint64_t> weights);

/// The places 0.. in an order in which place p comes shares[p] times, spread evenly: each turn goes to the largest
/// credit, lower places first if equal; the credits grow by the shares, and a turn costs their sum.
[[nodiscard]] std::vector<std::uint64_t> spread(std::span<const std::uint64_t> shares);

}  // namespace homing::distribution
