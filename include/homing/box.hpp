/// Places and subranges of an index space of any number of dimensions.
#pragma once

#include <homing/detail/fault.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace homing {

/// A place in an index space; the last index is the fastest in memory (row-major).
template <std::size_t Dims>
using point = std::array<std::size_t, Dims>;

/// A subrange: first[k] <= index k < last[k].
template <std::size_t Dims>
struct box {
  point<Dims> first;
  point<Dims> last;

  [[nodiscard]] constexpr bool empty() const noexcept {
    for (std::size_t k = 0; k < Dims; ++k) {
      if (first[k] >= last[k]) return true;
    }
    return false;
  }
  friend constexpr bool operator==(const box&, const box&) = default;
};

/// The one-dimensional subrange first..last-1.
[[nodiscard]] constexpr box<1> interval(std::size_t first, std::size_t last) noexcept { return {{first}, {last}}; }

namespace detail {

/// How many points an index space has; more than SIZE_MAX are a programmer's error.
template <std::size_t Dims>
[[nodiscard]] constexpr std::size_t count_points(const point<Dims>& extents) noexcept {
  std::size_t count = 1;
  for (const std::size_t extent : extents) {
    if (extent == 0) return 0;
  }
  for (const std::size_t extent : extents) {
    expects(count <= SIZE_MAX / extent, "distribution", "the index space has more than SIZE_MAX points");
    count *= extent;
  }
  return count;
}

/// A position's coordinates.
template <std::size_t Dims>
[[nodiscard]] constexpr point<Dims> place_of(std::size_t position, const point<Dims>& extents) noexcept {
  point<Dims> at{};
  for (std::size_t k = Dims; k-- > 1;) {
    at[k] = position % extents[k];
    position /= extents[k];
  }
  at[0] = position;
  return at;
}

}  // namespace detail
}  // namespace homing
