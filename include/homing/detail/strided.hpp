/// Elements in memory as an index space: what arrays and spans with a distribution share.
#pragma once

#include <homing/box.hpp>

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>

namespace homing::detail {

/// How many elements lie between neighbours along each dimension of a row-major array.
template <std::size_t Dims>
[[nodiscard]] constexpr point<Dims> row_major_strides(const point<Dims>& extents) noexcept {
  point<Dims> strides{};
  std::size_t stride = 1;
  for (std::size_t k = Dims; k-- > 0;) {
    strides[k] = stride;
    stride *= extents[k];
  }
  return strides;
}

/// A box of a row-major array. Indices are checked in debug builds.
template <class T, std::size_t Dims>
struct strided {
  T* data = nullptr;
  point<Dims> extents{};
  point<Dims> strides{};  ///< the last is 1

  [[nodiscard]] static constexpr strided row_major(T* data, const point<Dims>& extents) noexcept {
    return {data, extents, row_major_strides<Dims>(extents)};
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    std::size_t count = 1;
    for (const std::size_t e : extents) count *= e;
    return count;
  }
  /// True if no memory of others lies between the elements.
  [[nodiscard]] constexpr bool is_contiguous() const noexcept {
    if (size() == 0) return true;
    std::size_t expected = 1;
    for (std::size_t k = Dims; k-- > 0;) {
      if (extents[k] == 1) continue;  // nothing has a neighbour there
      if (strides[k] != expected) return false;
      expected *= extents[k];
    }
    return true;
  }
  [[nodiscard]] constexpr T& at(const point<Dims>& place) const noexcept {
    std::size_t offset = 0;
    for (std::size_t k = 0; k < Dims; ++k) {
      assert(place[k] < extents[k]);
      offset += place[k] * strides[k];
    }
    return data[offset];
  }
  template <std::integral... Index>
    requires(sizeof...(Index) == Dims)
  [[nodiscard]] constexpr T& at(Index... index) const noexcept {
    return at(point<Dims>{static_cast<std::size_t>(index)...});
  }
  template <std::integral... Index>
    requires(sizeof...(Index) + 1 == Dims)
  [[nodiscard]] constexpr std::span<T> row(Index... index) const noexcept {
    if (extents[Dims - 1] == 0) return {};
    return {std::addressof(at(point<Dims>{static_cast<std::size_t>(index)..., 0})), extents[Dims - 1]};
  }
  /// Calls f(place, run) for the longest runs of a box along memory, that is, along the last dimension.
  template <class F>
  constexpr void for_each_run(const box<Dims>& part, F&& f) const {
    if (part.empty()) return;
    const std::size_t count = part.last[Dims - 1] - part.first[Dims - 1];
    for (point<Dims> place = part.first;;) {
      f(static_cast<const point<Dims>&>(place), std::span<T>(std::addressof(at(place)), count));
      std::size_t k = Dims - 1;
      do {  // like counting, but for the last dimension
        if (k == 0) return;
        --k;
        place[k] = place[k] + 1 == part.last[k] ? part.first[k] : place[k] + 1;
      } while (place[k] == part.first[k]);
    }
  }
};

/// f(index..., arguments...).
template <std::size_t Dims, class F, class... Arguments>
constexpr decltype(auto) call_at(F&& f, const point<Dims>& place, Arguments&&... arguments) {
  return std::apply(
      [&](auto... index) -> decltype(auto) { return f(index..., static_cast<Arguments&&>(arguments)...); }, place);
}

}  // namespace homing::detail
