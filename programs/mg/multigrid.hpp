// The operators of NAS MG on a periodic cube: each works on a box of points, whichever thread has it.
//
// A sum over a point's 27 neighbours is made of three rows: the point's own, the four rows that share a face with it,
// and the four that share an edge. Points beyond the ends of the cube are those at its other end. Source: NAS Parallel
// Benchmarks, RNR-94-007, section 2.2.2.
#pragma once

#include <homing/box.hpp>

#include <array>
#include <cstddef>

namespace mg {

using coefficients = std::array<double, 4>;  ///< of the point, of neighbours at a face, an edge, a corner
using homing::box;

constexpr std::size_t side_max = 512;

/// The values of a cube, plane by plane.
struct cells {
  double* at;
  std::size_t side;
  [[nodiscard]] double* row(std::size_t plane, std::size_t row) const { return at + (plane * side + row) * side; }
  [[nodiscard]] std::size_t before(std::size_t i) const { return i == 0 ? side - 1 : i - 1; }
  [[nodiscard]] std::size_t after(std::size_t i) const { return i + 1 == side ? 0 : i + 1; }
};

/// The three rows around a row, from one column before `first` to one behind `last`; column i is element i + 1.
struct rows_around {
  std::array<double, side_max + 2> own;
  std::array<double, side_max + 2> faces;
  std::array<double, side_max + 2> edges;
  void read(const cells& from, std::size_t plane, std::size_t row, std::size_t first, std::size_t last) noexcept;
};

/// r = v - A u.
void residual(const cells& u, const cells& v, const cells& r, const coefficients& a, const box<3>& part) noexcept;
/// u += S r.
void smooth(const cells& r, const cells& u, const coefficients& c, const box<3>& part) noexcept;
/// coarse = P fine, for a box of coarse points.
void restrict_to(const cells& fine, const cells& coarse, const box<3>& part) noexcept;
/// fine += Q coarse, for a box of fine points.
void prolong(const cells& coarse, const cells& fine, const box<3>& part) noexcept;

}  // namespace mg
