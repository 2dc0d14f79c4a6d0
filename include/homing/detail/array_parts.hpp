/// Arrays whose types say their extents, built-in or std::array, taken apart along their dimensions.
#pragma once

#include <homing/box.hpp>

#include <array>
#include <cstddef>
#include <memory>

namespace homing::detail {

/// An array taken apart along its first `Dims` dimensions.
template <class Array, std::size_t Dims>
struct array_parts {
  static constexpr bool is_array = false;
};
template <class T>
struct array_parts<T, 0> {
  static constexpr bool is_array = true;
  using element = T;
  static constexpr void write_extents(std::size_t* /*to*/) noexcept {}
};
/// N parts, each taken apart in its turn.
template <class Part, std::size_t N, std::size_t Dims>
struct parts_in_a_row : array_parts<Part, Dims - 1> {
  static constexpr void write_extents(std::size_t* to) noexcept {
    *to = N;
    array_parts<Part, Dims - 1>::write_extents(to + 1);
  }
};
template <class T, std::size_t N, std::size_t Dims>
  requires(Dims > 0)
struct array_parts<T[N], Dims> : parts_in_a_row<T, N, Dims> {};
template <class T, std::size_t N, std::size_t Dims>
  requires(Dims > 0)
struct array_parts<std::array<T, N>, Dims> : parts_in_a_row<T, N, Dims> {
  static_assert(N == 0 || sizeof(std::array<T, N>) == N * sizeof(T), "nothing lies between its rows");
};
template <class T, std::size_t N, std::size_t Dims>
  requires(Dims > 0)
struct array_parts<const std::array<T, N>, Dims> : parts_in_a_row<const T, N, Dims> {};

/// How many dimensions an array has: all that can be taken apart.
template <class Array>
inline constexpr std::size_t array_rank = 0;
template <class T, std::size_t N>
inline constexpr std::size_t array_rank<T[N]> = 1 + array_rank<T>;
template <class T, std::size_t N>
inline constexpr std::size_t array_rank<std::array<T, N>> = 1 + array_rank<T>;
template <class T, std::size_t N>
inline constexpr std::size_t array_rank<const std::array<T, N>> = 1 + array_rank<T>;

template <class Array, std::size_t Dims>
[[nodiscard]] constexpr point<Dims> array_extents() noexcept {
  point<Dims> extents{};
  array_parts<Array, Dims>::write_extents(extents.data());
  return extents;
}

/// nullptr if it has none.
template <std::size_t Dims, class Array>
[[nodiscard]] constexpr auto first_element(Array& array) noexcept -> typename array_parts<Array, Dims>::element* {
  if constexpr (Dims == 0) {
    return std::addressof(array);
  } else if constexpr (array_extents<Array, Dims>()[0] == 0) {
    return nullptr;
  } else {
    return first_element<Dims - 1>(array[0]);
  }
}

}  // namespace homing::detail
