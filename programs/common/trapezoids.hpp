// Many steps of a stencil in one pass through memory: each block of rows advances as far as its neighbours' do not
// matter, in pieces of space and time that suit any cache; then the gaps between are filled.
// Source: Frigo and Strumpen, "Cache oblivious stencil computations", 2005.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "at_home.hpp"
#include "parts.hpp"

namespace programs {

/// Blocks of so many rows; and those of a domain's part, as its rows are.
[[nodiscard]] inline std::size_t block_count(std::size_t rows) {
  constexpr std::size_t a_part = 4;
  return std::min(rows, part_count() * a_part);
}
[[nodiscard]] inline interval blocks_of(std::size_t rows, std::uint32_t part) {
  return share_of(block_count(rows), part_count(), part);
}

/// `step(t, row)` makes a row's values of step t + 1 out of its own and its two neighbours' of step t, in the other one
/// of two arrays; 0 <= row < rows.
template <class Step>
class trapezoids {
 public:
  trapezoids(std::size_t rows, const Step& step) : rows_(rows), blocks_(block_count(rows)), step_(step) {}

  /// `loops.over_blocks(f)` calls f(p, b) for each block b of blocks_of(p) of each part p, on any threads, and ends
  /// when all have ended.
  template <class Loops>
  void run(int steps, Loops& loops) const {
    const int most = std::max(1, static_cast<int>(rows_ / blocks_ / 2));
    for (int t = 0; t < steps; t += most) advance(t, std::min(t + most, steps), loops);
  }

 private:
  [[nodiscard]] long edge(std::size_t block) const {
    return static_cast<long>(block < blocks_ ? share_of(rows_, blocks_, block).first : rows_);
  }

  // From step t0 to t1. Blocks of rows shrink by one a step on each inner side; then the triangles between them grow.
  template <class Loops>
  void advance(int t0, int t1, Loops& loops) const {
    loops.over_blocks([=, this](std::uint32_t p, std::size_t b) {
      count_work(homing::domain_index{p}, 1);
      walk(t0, t1, edge(b), b == 0 ? 0 : 1, edge(b + 1), b + 1 == blocks_ ? 0 : -1);
    });
    loops.over_blocks([=, this](std::uint32_t p, std::size_t b) {
      count_work(homing::domain_index{p}, 1);
      if (b > 0) walk(t0, t1, edge(b), -1, edge(b), 1);
    });
  }

  // Rows x0 <= x < x1 of step t0, whose ends move by dx0 and dx1 a step: cut in space if wide, else in time.
  void walk(int t0, int t1, long x0, long dx0, long x1, long dx1) const {
    const long dt = t1 - t0;
    if (dt == 1) {
      for (long x = x0; x < x1; ++x) step_(t0, static_cast<std::size_t>(x));
    } else if (2 * (x1 - x0) + (dx1 - dx0) * dt >= 4 * dt) {
      const long middle = (2 * (x0 + x1) + (2 + dx0 + dx1) * dt) / 4;
      walk(t0, t1, x0, dx0, middle, -1);
      walk(t0, t1, middle, -1, x1, dx1);
    } else {
      const int half = static_cast<int>(dt / 2);
      walk(t0, t0 + half, x0, dx0, x1, dx1);
      walk(t0 + half, t1, x0 + dx0 * half, dx0, x1 + dx1 * half, dx1);
    }
  }

  std::size_t rows_;
  std::size_t blocks_;
  const Step& step_;
};

}  // namespace programs
