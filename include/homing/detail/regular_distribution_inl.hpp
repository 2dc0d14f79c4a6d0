/// The inside of regular_distribution: arithmetic between points, positions and cells of the grid.
#pragma once

#include <homing/distribution.hpp>

#include <cassert>
#include <cstdint>
#include <tuple>
#include <utility>

namespace homing {
namespace detail {

template <std::size_t Dims>
[[nodiscard]] constexpr point<Dims> extents_of(const std::array<axis, Dims>& axes) noexcept {
  point<Dims> extents{};
  for (std::size_t k = 0; k < Dims; ++k) extents[k] = axes[k].extent();
  return extents;
}

}  // namespace detail

template <std::size_t Dims>
constexpr regular_distribution<Dims>::regular_distribution(const std::array<axis, Dims>& axes, const domain_set& over)
    : axes_(axes), over_(over), size_(detail::count_points<Dims>(detail::extents_of<Dims>(axes))) {
  std::uint64_t cells = 1;
  for (const axis& a : axes_) {
    if (cells <= over_.size()) cells *= a.parts();  // both below 2^32: no overflow
  }
  detail::expects(cells == over_.size(), "regular_distribution",
                  "the parts of the axes multiply to another number than there are domains (one weight a domain)");
}

template <std::size_t Dims>
constexpr std::uint32_t regular_distribution<Dims>::cell_of(const point<Dims>& at) const noexcept {
  std::uint32_t cell = 0;
  for (std::size_t k = 0; k < Dims; ++k) cell = cell * axes_[k].parts() + axes_[k].part_of(at[k]);
  return cell;
}

template <std::size_t Dims>
constexpr std::array<std::uint32_t, Dims> regular_distribution<Dims>::parts_of(std::uint32_t cell) const noexcept {
  std::array<std::uint32_t, Dims> parts{};
  for (std::size_t k = Dims; k-- > 0;) {
    parts[k] = cell % axes_[k].parts();
    cell /= axes_[k].parts();
  }
  return parts;
}

template <std::size_t Dims>
constexpr domain_index regular_distribution<Dims>::home_of(const point<Dims>& at) const noexcept {
  for (std::size_t k = 0; k < Dims; ++k) assert(at[k] < axes_[k].extent());
  return over_[cell_of(at)];
}

template <std::size_t Dims>
constexpr std::optional<domain_index> regular_distribution<Dims>::home(const box<Dims>& part) const noexcept {
  for (std::size_t k = 0; k < Dims; ++k) {
    if (part.first[k] >= part.last[k] || part.last[k] > axes_[k].extent()) return std::nullopt;
    if (axes_[k].run_end(part.first[k]) < part.last[k]) return std::nullopt;
  }
  return over_[cell_of(part.first)];
}

template <std::size_t Dims>
constexpr std::size_t regular_distribution<Dims>::size_of(domain_index domain) const noexcept {
  const std::optional<std::uint32_t> cell = over_.find(domain);
  if (!cell) return 0;
  const auto parts = parts_of(*cell);
  std::size_t result = 1;
  for (std::size_t k = 0; k < Dims; ++k) result *= axes_[k].size_of(parts[k]);
  return result;
}

template <std::size_t Dims>
constexpr piece regular_distribution<Dims>::run_at(std::size_t position, std::size_t last) const noexcept {
  const point<Dims> at = detail::place_of<Dims>(position, detail::extents_of<Dims>(axes_));
  // The innermost axis that is divided at all decides where the home changes; those inside it go along whole.
  std::size_t inner = 1;   // points that go along with one index of that axis
  std::size_t offset = 0;  // the position's place among them
  std::size_t end = size_ - position;
  for (std::size_t k = Dims; k-- > 0;) {
    if (axes_[k].run_end(0) < axes_[k].extent()) {
      end = (axes_[k].run_end(at[k]) - at[k]) * inner - offset;
      break;
    }
    offset += at[k] * inner;
    inner *= axes_[k].extent();
  }
  return {position, end < last - position ? position + end : last, over_[cell_of(at)]};
}

template <std::size_t Dims>
template <class F>
constexpr void regular_distribution<Dims>::for_each_box(domain_index domain, F&& f) const {
  const std::optional<std::uint32_t> cell = over_.find(domain);
  if (!cell || size_ == 0) return;
  const auto parts = parts_of(*cell);
  // The next run of this part from index i on; {extent, extent} if there is none.
  const auto find_run = [&](std::size_t k, std::size_t i) {
    const axis& a = axes_[k];
    while (i < a.extent() && a.part_of(i) != parts[k]) i = a.run_end(i);
    return std::pair(i, i < a.extent() ? a.run_end(i) : i);
  };
  box<Dims> b{};
  for (std::size_t k = 0; k < Dims; ++k) {
    const auto [first, last] = find_run(k, 0);
    if (first == last) return;
    b.first[k] = first;
    b.last[k] = last;
  }
  for (;;) {
    f(static_cast<const box<Dims>&>(b));
    std::size_t k = Dims;
    for (;;) {  // like counting: the fastest axis steps, and one that is through starts again
      if (k == 0) return;
      --k;
      auto [first, last] = find_run(k, b.last[k]);
      const bool through = first == last;
      if (through) std::tie(first, last) = find_run(k, 0);
      b.first[k] = first;
      b.last[k] = last;
      if (!through) break;
    }
  }
}

}  // namespace homing
