// NAS MG: V-cycles on a periodic cube. Every level is distributed in three dimensions, the coarse ones over as many
// domains as they have planes, rows and columns for.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "../common/models.hpp"
#include "multigrid.hpp"

namespace {

using namespace programs;

struct nas_class {
  std::size_t side;
  int iterations;
  mg::coefficients smoother;
  double norm;  ///< rnm2
};
constexpr mg::coefficients a = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
constexpr mg::coefficients small = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
constexpr mg::coefficients large = {-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};
constexpr nas_class classes[] = {{32, 4, small, 0.5307707005734e-04},
                                 {128, 4, small, 0.6467329375339e-05},
                                 {256, 4, small, 0.2433365309069e-05},
                                 {256, 20, large, 0.1800564401355e-05},
                                 {512, 20, large, 0.5706732285740e-06}};
constexpr size_name sizes[] = {
    {"S", "32^3"}, {"W", "128^3"}, {"A", "256^3, 446 MB"}, {"B", "256^3, more iterations"}, {"C", "512^3, 3.5 GB"}};

/// One level: its points, an approximation and a residual.
struct level {
  explicit level(std::size_t side) : all(side), u(side * side * side), r(u.size()) {}
  [[nodiscard]] mg::cells cells_of(const array<double>& of) const { return {of.data(), all.side()}; }
  cube all;
  array<double> u;
  array<double> r;
};

/// Charges: +1 where the specification's random numbers are largest, -1 where they are smallest, ten of each.
void put_charges(array<double>& v) {
  constexpr std::size_t charges = 10;
  std::vector<std::pair<double, std::size_t>> least;
  std::vector<std::pair<double, std::size_t>> most;
  const auto consider = [](auto& chosen, double value, std::size_t at) {
    if (chosen.size() == charges && value >= chosen.back().first) return;
    if (chosen.size() == charges) chosen.pop_back();
    chosen.insert(std::ranges::upper_bound(chosen, std::pair(value, at)), {value, at});
  };
  std::uint64_t x = 314'159'265;
  for (std::size_t i = 0; i < v.size(); ++i) {
    x = x * 1'220'703'125 & ((std::uint64_t{1} << 46) - 1);
    consider(least, static_cast<double>(x), i);
    consider(most, -static_cast<double>(x), i);
  }
  for (const auto& [value, at] : least) v[at] = -1;
  for (const auto& [value, at] : most) v[at] = 1;
}

template <class Model>
class solver {
 public:
  solver(const request& r, Model& model)
      : class_(classes[r.size]), model_(model), v_(class_.side * class_.side * class_.side) {
    for (std::size_t side = 2; side <= class_.side; side *= 2) levels_.emplace_back(side);
    for (level& l : levels_) {
      fill(l, l.u);
      fill(l, l.r);
      model_.place(l.all.homes(), l.u);
      model_.place(l.all.homes(), l.r);
    }
    fill(top(), v_);
    model_.place(top().all.homes(), v_);
    put_charges(v_);
  }
  void reset() { fill(top(), top().u); }
  void run() {
    top_residual();
    for (int i = 0; i < class_.iterations; ++i) {
      v_cycle();
      top_residual();
    }
    norm_ = std::sqrt(square_of_residual() / static_cast<double>(v_.size()));
  }
  [[nodiscard]] std::string wrong() const {
    if (std::abs(norm_ - class_.norm) <= 1e-8 * class_.norm) return "";
    char text[64];
    std::snprintf(text, sizeof text, "rnm2 is %.13e", norm_);
    return text;
  }
  [[nodiscard]] std::vector<homing::memory_range> data() const {
    std::vector<homing::memory_range> all{v_.range()};
    for (const level& l : levels_) all.insert(all.end(), {l.u.range(), l.r.range()});
    return all;
  }
  /// Millions of operations, as NAS counts them.
  [[nodiscard]] double amount() const { return 58.0 * class_.iterations * static_cast<double>(v_.size()) / 1e6; }

 private:
  [[nodiscard]] level& top() { return levels_.back(); }

  void fill(level& l, array<double>& with_zeros) {
    const mg::cells to = l.cells_of(with_zeros);
    model_.loop(l.all, [to](const homing::box<3>& part) {
      for (std::size_t i = part.first[0]; i < part.last[0]; ++i) {
        for (std::size_t j = part.first[1]; j < part.last[1]; ++j) {
          std::fill(to.row(i, j) + part.first[2], to.row(i, j) + part.last[2], 0.0);
        }
      }
    });
  }
  void residual(level& l, const array<double>& v) {
    model_.loop(l.all, [&](const homing::box<3>& part) {
      mg::residual(l.cells_of(l.u), l.cells_of(v), l.cells_of(l.r), a, part);
    });
  }
  void smooth(level& l) {
    model_.loop(l.all, [&](const homing::box<3>& part) {
      mg::smooth(l.cells_of(l.r), l.cells_of(l.u), class_.smoother, part);
    });
  }
  void top_residual() { residual(top(), v_); }

  void v_cycle() {
    for (std::size_t k = levels_.size(); --k > 0;) {
      const level& fine = levels_[k];
      level& coarse = levels_[k - 1];
      model_.loop(coarse.all, [&](const homing::box<3>& part) {
        mg::restrict_to(fine.cells_of(fine.r), coarse.cells_of(coarse.r), part);
      });
    }
    fill(levels_[0], levels_[0].u);
    smooth(levels_[0]);
    for (std::size_t k = 1; k < levels_.size(); ++k) {
      const level& coarse = levels_[k - 1];
      level& fine = levels_[k];
      const bool is_top = k + 1 == levels_.size();
      if (!is_top) fill(fine, fine.u);
      model_.loop(fine.all, [&](const homing::box<3>& part) {
        mg::prolong(coarse.cells_of(coarse.u), fine.cells_of(fine.u), part);
      });
      residual(fine, is_top ? v_ : fine.r);
      smooth(fine);
    }
  }
  double square_of_residual() {
    const mg::cells r = top().cells_of(top().r);
    return model_.sum(top().all, 0.0, [r](const homing::box<3>& part) {
      double sum = 0;
      for (std::size_t i = part.first[0]; i < part.last[0]; ++i) {
        for (std::size_t j = part.first[1]; j < part.last[1]; ++j) {
          const double* const row = r.row(i, j);
#pragma omp simd reduction(+ : sum)
          for (std::size_t k = part.first[2]; k < part.last[2]; ++k) sum += row[k] * row[k];
        }
      }
      return sum;
    });
  }

  const nas_class& class_;
  Model& model_;
  std::deque<level> levels_;  ///< the coarsest first; a level stays where it is
  array<double> v_;
  double norm_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return run_loops<solver>(argc, argv, {"mg", "NAS MG: multigrid on a periodic cube.", "Mop", sizes});
}
