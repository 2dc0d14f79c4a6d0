// The sweep over one block, and the values that it starts from. Every variant and the serial check run this same code.
//
// Source: section 1.4: a six-point Jacobi solver with constant coefficients; six loads and one store an update.
#pragma once

#include <cstddef>

#include "../common/work.hpp"
#include "lattice.hpp"

namespace jacobi {

/// One update of each site of a block. The order of the additions is fixed, so that results are equal bit by bit.
inline void sweep_block(const lattice& l, const double* from, double* to, const site_box& b) noexcept {
  constexpr double sixth = 1.0 / 6.0;
  const std::size_t row = l.row();
  const std::size_t plane = l.plane();
  const std::size_t count = b.last.k - b.first.k;
  for (std::size_t i = b.first.i; i < b.last.i; ++i) {
    for (std::size_t j = b.first.j; j < b.last.j; ++j) {
      const std::size_t start = l.place_of(i, j, b.first.k);
      const double* const here = from + start;
      double* const __restrict result = to + start;
      for (std::size_t k = 0; k < count; ++k) {
        result[k] =
            sixth * (here[k - 1] + here[k + 1] + here[k - row] + here[k + row] + here[k - plane] + here[k + plane]);
      }
    }
  }
}

/// What an array holds at a place before the first sweep: in 0..1, different at each.
inline double first_value(std::size_t place) noexcept { return static_cast<double>(bench::mix(place) >> 11) * 0x1p-53; }

/// Writes the first values of a block's sites to both arrays, and of the fixed layer next to it: the first touch.
inline void touch_block(const lattice& l, double* a, double* b, const site_box& box) noexcept {
  // From place first to place last of each direction in the array, which has one more layer on each side.
  const auto first = [](std::size_t site) { return site == 0 ? 0 : site + 1; };
  const auto last = [](std::size_t site, std::size_t sites) { return site == sites ? sites + 2 : site + 1; };
  for (std::size_t i = first(box.first.i); i < last(box.last.i, l.sites().i); ++i) {
    for (std::size_t j = first(box.first.j); j < last(box.last.j, l.sites().j); ++j) {
      for (std::size_t k = first(box.first.k); k < last(box.last.k, l.sites().k); ++k) {
        const std::size_t place = i * l.plane() + j * l.row() + k;
        a[place] = b[place] = first_value(place);
      }
    }
  }
}

}  // namespace jacobi
