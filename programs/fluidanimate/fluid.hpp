// Smoothed-particle hydrodynamics in cells: what each phase of a step does for one row of cells.
//
// A cell is as wide as a kernel reaches, so that a particle's neighbours are in the 27 cells around it; a layer of
// empty cells, ghosts, surrounds the tank. Each particle gathers from its neighbours, in the order of the cells: no two
// threads write to one cell, and results are equal bit by bit for any number of threads. Source: Monaghan, "Smoothed
// particle hydrodynamics", 1992, and "Simulating free surface flows with SPH", 1994.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fluid {

constexpr std::size_t particles_a_cell = 48;

/// Particles of a cell, component by component.
struct cell {
  using component = std::array<float, particles_a_cell>;
  std::uint32_t count;
  std::uint32_t lost;  ///< particles that found no room, or moved too far: the result is wrong then
  std::array<component, 3> at;
  std::array<component, 3> speed;
  component density;
  component pressure;             ///< over the square of the density
  std::array<component, 3> push;  ///< acceleration by the neighbours
  [[nodiscard]] std::array<float, 3> place(std::size_t i) const { return {at[0][i], at[1][i], at[2][i]}; }
};

/// Numbers of one flow, in units of the height and width of the first column of fluid, and of gravity: y is up.
struct flow {
  std::array<float, 3> tank;         ///< x, y, z
  std::array<std::size_t, 3> cells;  ///< along each, ghosts included
  float spacing;                     ///< of the particles at the start
  float reach;                       ///< of the kernel: the width of a cell
  float mass;
  float sound;  ///< its speed
  float viscosity;
  float dt;
  [[nodiscard]] std::size_t cell_number(std::size_t x, std::size_t y, std::size_t z) const {
    return (z * cells[0] + x) * cells[1] + y;
  }
  /// The cell that a place is in; of a place outside, the nearest.
  [[nodiscard]] std::size_t cell_of(const std::array<float, 3>& place) const;
  /// Rows of cells: those of one x and z, from the bottom up; a layer's, of one z, lie side by side. Ghosts included;
  /// the work is that of inner ones.
  [[nodiscard]] std::size_t rows() const { return cells[0] * cells[2]; }
};

/// Particles of `from` that are in a cell of the row now. Nobody moves more than one cell a step.
void rebuild(const flow& f, const cell* from, cell* to, std::size_t row) noexcept;
void densities(const flow& f, cell* cells, std::size_t row) noexcept;
void forces(const flow& f, cell* cells, std::size_t row) noexcept;
/// Gravity and the walls, then speeds and places.
void advance(const flow& f, cell* cells, std::size_t row) noexcept;

}  // namespace fluid
