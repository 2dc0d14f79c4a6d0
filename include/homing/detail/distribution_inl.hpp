/// The inside of <homing/distribution.hpp>: grids of blocks, distributions of the user's own, and pieces.
#pragma once

#include <homing/distribution.hpp>

#include <cstdint>
#include <utility>

namespace homing {
namespace detail {

/// True if base^exponent >= bound.
[[nodiscard]] constexpr bool reaches(std::uint64_t base, std::size_t exponent, std::uint64_t bound) noexcept {
  std::uint64_t power = 1;
  for (std::size_t i = 0; i < exponent && power < bound; ++i) power *= base;  // both below 2^32
  return power >= bound;
}

/// Factors of `count`, descending, as near to each other as whole factors found in this order can be.
template <std::size_t Dims>
[[nodiscard]] constexpr std::array<std::uint32_t, Dims> nearly_cube(std::uint32_t count) noexcept {
  std::array<std::uint32_t, Dims> factors{};
  for (std::size_t k = 0; k < Dims; ++k) {
    std::uint32_t factor = 1;
    while (count % factor != 0 || !reaches(factor, Dims - k, count)) ++factor;
    factors[k] = factor;
    count /= factor;
  }
  return factors;
}

template <std::size_t Dims, std::size_t... K>
[[nodiscard]] constexpr regular_distribution<Dims> blocks_along(const point<Dims>& extents, const domain_set& over,
                                                                const std::array<std::uint32_t, Dims>& parts,
                                                                std::index_sequence<K...>) noexcept {
  return {{axis::block(extents[K], parts[K])...}, over};
}

}  // namespace detail

template <std::size_t Dims>
  requires(Dims >= 2)
constexpr regular_distribution<Dims> block(const point<Dims>& extents, const domain_set& over) noexcept {
  std::array<std::uint32_t, Dims> parts{};
  parts.fill(1);
  parts[0] = over.size();
  return detail::blocks_along<Dims>(extents, over, parts, std::make_index_sequence<Dims>());
}

template <std::size_t Dims>
  requires(Dims >= 2)
constexpr regular_distribution<Dims> block_grid(const point<Dims>& extents, const domain_set& over) noexcept {
  return detail::blocks_along<Dims>(extents, over, detail::nearly_cube<Dims>(over.size()),
                                    std::make_index_sequence<Dims>());
}

template <std::size_t Dims, distribution_over<Dims> Dist>
constexpr row_major<Dims, Dist>::row_major(Dist of, const point<Dims>& extents)
    : of_(std::move(of)), extents_(extents), size_(detail::count_points<Dims>(extents)) {}

// An interval of positions is at most 2 Dims - 1 boxes: from inside out to whole hyperplanes, and back in again.
template <std::size_t Dims, distribution_over<Dims> Dist>
constexpr std::optional<domain_index> row_major<Dims, Dist>::home(const box<1>& positions) const {
  std::optional<domain_index> common;
  std::size_t position = positions.first[0];
  const std::size_t last = positions.last[0];
  if (position >= last || last > size_) return std::nullopt;
  for (bool is_first = true; position < last; is_first = false) {
    const point<Dims> at = detail::place_of<Dims>(position, extents_);
    std::size_t k = Dims - 1;
    std::size_t inner = 1;
    while (k > 0 && at[k] == 0 && inner * extents_[k] <= last - position) inner *= extents_[k--];
    const std::size_t count = std::min((last - position) / inner, extents_[k] - at[k]);
    box<Dims> part{at, extents_};
    for (std::size_t outer = 0; outer < k; ++outer) part.last[outer] = at[outer] + 1;
    part.last[k] = at[k] + count;
    const std::optional<domain_index> home = of_.home(part);
    if (!home || (!is_first && home != common)) return std::nullopt;
    common = home;
    position += count * inner;
  }
  return common;
}

template <class Dist>
  requires distribution_over<Dist, 1> || enumerable_distribution<Dist>
constexpr piece run_at(const Dist& d, std::size_t position, std::size_t last) {
  if constexpr (distribution_without_homes<Dist>) {
    return {position, last, std::nullopt};
  } else if constexpr (enumerable_distribution<Dist>) {
    return d.run_at(position, last);
  } else {
    const auto ask = [&d](std::size_t from, std::size_t to) -> std::optional<domain_index> {
      return d.home(interval(from, to));
    };
    const std::optional<domain_index> home = ask(position, position + 1);
    std::size_t end = position + 1;  // position..end-1 is known to be of the run
    if (!home) {
      while (end < last && !ask(end, end + 1)) ++end;
      return {position, end, home};
    }
    const auto reaches = [&](std::size_t to) { return ask(position, to) == home; };
    std::size_t beyond = last + 1;  // position..beyond-1 is known to be more than the run
    for (std::size_t step = 1; end < last; step = step <= SIZE_MAX / 2 ? 2 * step : step) {
      const std::size_t to = end + std::min(step, last - end);
      if (!reaches(to)) {
        beyond = to;
        break;
      }
      end = to;
    }
    while (end < last && beyond - end > 1) {
      const std::size_t middle = end + (beyond - end) / 2;
      (reaches(middle) ? end : beyond) = middle;
    }
    return {position, end, home};
  }
}

template <class Dist, class F>
  requires distribution_over<Dist, 1> || enumerable_distribution<Dist>
constexpr void for_each_piece(const Dist& d, std::size_t first, std::size_t last, F&& f) {
  if (first >= last) return;
  piece whole = run_at(d, first, last);
  while (whole.last < last) {
    const piece next = run_at(d, whole.last, last);
    if (next.home == whole.home) {
      whole.last = next.last;
      continue;
    }
    f(static_cast<const piece&>(whole));
    whole = next;
  }
  f(static_cast<const piece&>(whole));
}

}  // namespace homing
