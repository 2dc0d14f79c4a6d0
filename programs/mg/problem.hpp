// NAS MG: V-cycles on a periodic cube. Every level is distributed in three dimensions, the coarse ones over as many
// domains as they have planes, rows and columns for.
#pragma once

#include <homing/distribution.hpp>
#include <homing/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../common/at_home.hpp"
#include "../common/variants.hpp"
#include "multigrid.hpp"

namespace mg {

using programs::array;
using programs::request;

struct nas_class {
  std::size_t side;
  int iterations;
  coefficients smoother;
  double norm;  ///< rnm2
};

/// The domains as a grid: as many along planes as a level has planes for, the others along rows, then along columns. A
/// part is then a run of memory at all but the coarsest levels, and has no more surface than others in a cube of four.
[[nodiscard]] homing::regular_distribution<3> planes_first(std::size_t side);

/// One level: where its points belong, an approximation u and a residual r.
struct level {
  explicit level(std::size_t of_side) : side(of_side), homes(planes_first(of_side)) {}
  [[nodiscard]] std::size_t size() const { return side * side * side; }
  [[nodiscard]] box<3> all() const { return {{0, 0, 0}, {side, side, side}}; }
  /// Rows of about 4,096 points, for loops that cut rows into tasks.
  [[nodiscard]] std::size_t rows_a_task() const { return std::clamp<std::size_t>(4096 / side, 1, side); }
  /// Of row n, counted over all planes.
  [[nodiscard]] box<3> row(std::size_t n) const {
    return {{n / side, n % side, 0}, {n / side + 1, n % side + 1, side}};
  }
  /// Calls f(box) for the boxes, three at most, that rows first..last-1 are.
  template <class F>
  void for_each_box(std::size_t first, std::size_t last, const F& f) const {
    while (first < last) {
      const std::size_t plane = first / side;
      const std::size_t begin = first % side;
      const std::size_t planes = begin == 0 ? std::max<std::size_t>(1, (last - first) / side) : 1;
      const std::size_t end = std::min(side, begin + last - first);
      f(box<3>{{plane, begin, 0}, {plane + planes, end, side}});
      first += (planes - 1) * side + end - begin;
    }
  }

  std::size_t side;
  homing::regular_distribution<3> homes;
  double* u = nullptr;
  double* r = nullptr;
};

/// The levels, the operators on boxes of their points, and the order of loops over them. The memory is the variant's.
///
/// A loop is `over(level, f)`: f(box) for boxes that together are all points of that level, by any threads; it ends
/// when they have ended. A sum is `sum(level, f)`: of the values of f(box).
class problem {
 public:
  explicit problem(const request& r);
  [[nodiscard]] std::vector<level>& levels() { return levels_; }
  [[nodiscard]] const std::vector<level>& levels() const { return levels_; }
  [[nodiscard]] level& top() { return levels_.back(); }
  [[nodiscard]] const level& top() const { return levels_.back(); }
  void see_charges(double* v) { v_ = v; }
  void put_charges();

  void zero(double* of, std::size_t k, const box<3>& part) const;
  [[nodiscard]] double square_of_residual(const box<3>& part) const;

  template <class Loops>
  void zero_all(Loops& loops) const {
    for (std::size_t k = 0; k < levels_.size(); ++k) {
      loops.over(k, [&](const box<3>& part) { zero(levels_[k].u, k, part); });
      loops.over(k, [&](const box<3>& part) { zero(levels_[k].r, k, part); });
    }
    loops.over(levels_.size() - 1, [&](const box<3>& part) { zero(v_, levels_.size() - 1, part); });
  }
  template <class Loops>
  void zero_top(Loops& loops) const {
    loops.over(levels_.size() - 1, [&](const box<3>& part) { zero(levels_.back().u, levels_.size() - 1, part); });
  }
  template <class Loops>
  void solve(Loops& loops) const {
    residual(levels_.size() - 1, loops);
    for (int i = 0; i < class_.iterations; ++i) {
      v_cycle(loops);
      residual(levels_.size() - 1, loops);
    }
  }

  void found(double square);
  [[nodiscard]] std::string wrong() const;
  /// Millions of operations, as NAS counts them.
  [[nodiscard]] double amount() const {
    return 58.0 * class_.iterations * static_cast<double>(levels_.back().size()) / 1e6;
  }
  [[nodiscard]] std::vector<homing::memory_range> data() const;

 private:
  // r = v - A u; below the top r - A u.
  template <class Loops>
  void residual(std::size_t k, Loops& loops) const {
    loops.over(k, [&](const box<3>& part) { residual_of(k, part); });
  }
  template <class Loops>
  void v_cycle(Loops& loops) const {
    for (std::size_t k = levels_.size() - 1; k-- > 0;) {
      loops.over(k, [&](const box<3>& part) { restrict_to_level(k, part); });
    }
    loops.over(0, [&](const box<3>& part) { zero(levels_[0].u, 0, part); });
    loops.over(0, [&](const box<3>& part) { smooth_level(0, part); });
    for (std::size_t k = 1; k < levels_.size(); ++k) {
      if (k + 1 < levels_.size()) loops.over(k, [&](const box<3>& part) { zero(levels_[k].u, k, part); });
      loops.over(k, [&](const box<3>& part) { prolong_to_level(k, part); });
      residual(k, loops);
      loops.over(k, [&](const box<3>& part) { smooth_level(k, part); });
    }
  }
  void residual_of(std::size_t k, const box<3>& part) const;
  void smooth_level(std::size_t k, const box<3>& part) const;
  void restrict_to_level(std::size_t k, const box<3>& part) const;
  void prolong_to_level(std::size_t k, const box<3>& part) const;

  const nas_class& class_;
  std::vector<level> levels_;  ///< the coarsest first
  double* v_ = nullptr;
  double norm_ = 0;
};

/// A problem in plain pages, which the variant's own loops touch first.
class solver_in_pages {
 public:
  explicit solver_in_pages(const request& r);
  [[nodiscard]] std::string wrong() const { return p_.wrong(); }
  [[nodiscard]] double amount() const { return p_.amount(); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return p_.data(); }

 protected:
  problem p_;

 private:
  std::vector<array<double>> pages_;
};

[[nodiscard]] programs::description about() noexcept;

}  // namespace mg
