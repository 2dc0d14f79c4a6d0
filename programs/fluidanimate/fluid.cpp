#include "fluid.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fluid {
namespace {

constexpr float reference_density = 1;

/// Calls f(cell) for the cells of a row that are no ghosts, and f's second argument is the number.
template <class F>
void for_each_cell(const flow& f, std::size_t row, const F& visit) {
  const std::size_t x = row % f.cells[0];
  const std::size_t z = row / f.cells[0];
  if (x == 0 || x + 1 == f.cells[0] || z == 0 || z + 1 == f.cells[2]) return;
  for (std::size_t y = 1; y + 1 < f.cells[1]; ++y) visit(x, y, z);
}

/// Calls visit(number) for a cell and those around it, always in this order.
template <class F>
void for_each_near(const flow& f, std::size_t x, std::size_t y, std::size_t z, const F& visit) {
  for (std::size_t i = x - 1; i <= x + 1; ++i) {
    for (std::size_t k = z - 1; k <= z + 1; ++k) {
      for (std::size_t j = y - 1; j <= y + 1; ++j) visit(f.cell_number(i, j, k));
    }
  }
}

void copy_particle(const cell& from, std::size_t i, cell& to, std::size_t j) {
  for (std::size_t d = 0; d < 3; ++d) {
    to.at[d][j] = from.at[d][i];
    to.speed[d][j] = from.speed[d][i];
  }
}

}  // namespace

std::size_t flow::cell_of(const std::array<float, 3>& place) const {
  std::array<std::size_t, 3> c{};
  for (std::size_t d = 0; d < 3; ++d) {
    const float at = std::floor(place[d] / reach) + 1;
    c[d] = static_cast<std::size_t>(std::clamp(at, 1.0F, static_cast<float>(cells[d] - 2)));
  }
  return cell_number(c[0], c[1], c[2]);
}

void rebuild(const flow& f, const cell* from, cell* to, std::size_t row) noexcept {
  for_each_cell(f, row, [&](std::size_t x, std::size_t y, std::size_t z) {
    const std::size_t own = f.cell_number(x, y, z);
    cell& into = to[own];
    into.count = 0;
    into.lost = from[own].lost;
    for_each_near(f, x, y, z, [&](std::size_t near) {
      for (std::size_t i = 0; i < from[near].count; ++i) {
        if (f.cell_of(from[near].place(i)) != own) continue;
        if (into.count == particles_a_cell) {
          ++into.lost;
        } else {
          copy_particle(from[near], i, into, into.count++);
        }
      }
    });
  });
}

void densities(const flow& f, cell* cells, std::size_t row) noexcept {
  const float square = f.reach * f.reach;
  // The kernel (h^2 - r^2)^3, whose integral over space is 64 pi h^9 / 315.
  const float factor = f.mass * 315 / (64 * std::numbers::pi_v<float> * std::pow(f.reach, 9.0F));
  for_each_cell(f, row, [&](std::size_t x, std::size_t y, std::size_t z) {
    cell& own = cells[f.cell_number(x, y, z)];
    own.density.fill(0);
    for_each_near(f, x, y, z, [&](std::size_t near) {
      const cell& other = cells[near];
      for (std::size_t i = 0; i < own.count; ++i) {
        const auto at = own.place(i);
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t j = 0; j < other.count; ++j) {
          const float dx = at[0] - other.at[0][j];
          const float dy = at[1] - other.at[1][j];
          const float dz = at[2] - other.at[2][j];
          const float left = std::max(0.0F, square - (dx * dx + dy * dy + dz * dz));
          sum += left * left * left;
        }
        own.density[i] += factor * sum;
      }
    });
    for (std::size_t i = 0; i < own.count; ++i) {  // no tension at the surface
      const float over = std::max(0.0F, own.density[i] - reference_density);
      own.pressure[i] = f.sound * f.sound * over / (own.density[i] * own.density[i]);
    }
  });
}

void forces(const flow& f, cell* cells, std::size_t row) noexcept {
  // Of the kernel (h - r)^3, whose integral is pi h^6 / 15: the slope.
  const float factor = f.mass * 45 / (std::numbers::pi_v<float> * std::pow(f.reach, 6.0F));
  const float tiny = 1e-12F;
  for_each_cell(f, row, [&](std::size_t x, std::size_t y, std::size_t z) {
    cell& own = cells[f.cell_number(x, y, z)];
    for (auto& push : own.push) push.fill(0);
    for_each_near(f, x, y, z, [&](std::size_t near) {
      const cell& other = cells[near];
      for (std::size_t i = 0; i < own.count; ++i) {
        const auto at = own.place(i);
        const float u = own.speed[0][i], v = own.speed[1][i], w = own.speed[2][i];
        const float pressure = own.pressure[i];
        const float density = own.density[i];
        float px = 0, py = 0, pz = 0;
#pragma omp simd reduction(+ : px, py, pz)
        for (std::size_t j = 0; j < other.count; ++j) {
          const float dx = at[0] - other.at[0][j];
          const float dy = at[1] - other.at[1][j];
          const float dz = at[2] - other.at[2][j];
          const float r = std::sqrt(dx * dx + dy * dy + dz * dz + tiny);
          const float left = std::max(0.0F, f.reach - r);
          // Approaching particles slow each other down (Monaghan's artificial viscosity).
          const float along =
              (u - other.speed[0][j]) * dx + (v - other.speed[1][j]) * dy + (w - other.speed[2][j]) * dz;
          const float friction = -f.viscosity * f.sound * f.reach * std::min(0.0F, along) /
                                 ((r * r + 0.01F * f.reach * f.reach) * 0.5F * (density + other.density[j]));
          const float push = factor * left * left / r * (pressure + other.pressure[j] + friction);
          px += push * dx;
          py += push * dy;
          pz += push * dz;
        }
        own.push[0][i] += px;
        own.push[1][i] += py;
        own.push[2][i] += pz;
      }
    });
  });
}

void advance(const flow& f, cell* cells, std::size_t row) noexcept {
  for_each_cell(f, row, [&](std::size_t x, std::size_t y, std::size_t z) {
    cell& own = cells[f.cell_number(x, y, z)];
    for (std::size_t i = 0; i < own.count; ++i) {
      for (std::size_t d = 0; d < 3; ++d) {
        float& at = own.at[d][i];
        float& speed = own.speed[d][i];
        // The walls push as a spring does, from half a spacing on, and as strongly as the fluid resists pressure.
        const float low = std::max(0.0F, f.spacing / 2 - at);
        const float high = d == 1 ? 0 : std::max(0.0F, at - (f.tank[d] - f.spacing / 2));
        const float wall = f.sound * f.sound / (f.spacing * f.spacing) * (low - high);
        speed += f.dt * (own.push[d][i] + wall + (d == 1 ? -1.0F : 0.0F));
        if (std::abs(speed) * f.dt > f.reach) ++own.lost;
        at += f.dt * speed;
      }
    }
  });
}

}  // namespace fluid
