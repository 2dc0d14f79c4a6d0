// How an index space is dealt: in nearly equal intervals, over threads or over domains.
#pragma once

#include <homing/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace programs {

/// Domains of this machine; a computation by parts has one part for each.
[[nodiscard]] inline std::uint32_t part_count() {
  return static_cast<std::uint32_t>(homing::topology::current().domains().size());
}

/// Indices first <= i < last.
struct interval {
  std::size_t first;
  std::size_t last;
  [[nodiscard]] std::size_t size() const noexcept { return last - first; }
};

/// The p-th of so many nearly equal intervals, as homing::block deals them.
[[nodiscard]] inline interval share_of(std::size_t size, std::size_t parts, std::size_t p) noexcept {
  const auto begin = [&](std::size_t i) { return i * (size / parts) + std::min(i, size % parts); };
  return {begin(p), begin(p + 1)};
}

}  // namespace programs
