// Many steps of a stencil in one pass through memory: each domain's rows advance as far as its neighbours' do not
// matter, in pieces of space and time that suit any cache; then the gaps between are filled.
// Source: Frigo and Strumpen, "Cache oblivious stencil computations", 2005.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "space.hpp"

namespace programs {

/// `step(t, row)` makes a row's values of step t + 1 out of its own and its two neighbours' of step t, in the other one
/// of two arrays; 0 <= row < rows. `data(row)` is where a row's data is. Called inside Model::root().
template <class Model, class Step, class Data>
class trapezoids {
 public:
  trapezoids(Model& model, std::size_t rows, const Step& step, const Data& data)
      : model_(model), rows_(rows), blocks_(std::min(rows, part_count() * blocks_a_part)), step_(step), data_(data) {}

  void run(int steps) {
    const int most = std::max(1, static_cast<int>(rows_ / blocks_ / 2));
    for (int t = 0; t < steps; t += most) advance(t, std::min(t + most, steps));
  }

 private:
  static constexpr std::size_t blocks_a_part = 4;
  [[nodiscard]] long edge(std::size_t block) const {
    return static_cast<long>(block < blocks_ ? share_of(rows_, blocks_, block).first : rows_);
  }

  // From step t0 to t1. Blocks of rows shrink by one a step on each inner side; then the triangles between them grow.
  void advance(int t0, int t1) {
    over_blocks([&](std::size_t b) { walk(t0, t1, edge(b), b == 0 ? 0 : 1, edge(b + 1), b + 1 == blocks_ ? 0 : -1); });
    over_blocks([&](std::size_t b) {
      if (b > 0) walk(t0, t1, edge(b), -1, edge(b), 1);
    });
  }
  template <class F>
  void over_blocks(const F& f) {
    model_.parts(
        [&](std::uint32_t p) {
          const interval mine = share_of(blocks_, part_count(), p);
          count_work(homing::domain_index{p}, mine.size());
          model_.all(mine.size(), [&](std::size_t b) { f(mine.first + b); });
        },
        [&](std::uint32_t p) { return data_(share_of(rows_, part_count(), p).first); });
  }

  // Rows x0 <= x < x1 of step t0, whose ends move by dx0 and dx1 a step: cut in space if wide, else in time.
  void walk(int t0, int t1, long x0, long dx0, long x1, long dx1) {
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

  Model& model_;
  std::size_t rows_;
  std::size_t blocks_;
  const Step& step_;
  const Data& data_;
};

}  // namespace programs
