#include "problem.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "../common/parts.hpp"

namespace mg {
namespace {

constexpr coefficients a = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
constexpr coefficients small = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
constexpr coefficients large = {-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};
constexpr nas_class classes[] = {{32, 4, small, 0.5307707005734e-04},
                                 {128, 4, small, 0.6467329375339e-05},
                                 {256, 4, small, 0.2433365309069e-05},
                                 {256, 20, large, 0.1800564401355e-05},
                                 {512, 20, large, 0.5706732285740e-06}};
constexpr programs::size_name sizes[] = {
    {"S", "32^3"}, {"W", "128^3"}, {"A", "256^3, 446 MB"}, {"B", "256^3, more iterations"}, {"C", "512^3, 3.5 GB"}};

}  // namespace

homing::regular_distribution<3> planes_first(std::size_t side) {
  auto left = static_cast<std::uint32_t>(programs::part_count());
  std::array<std::uint32_t, 3> parts{};
  std::uint32_t used = 1;
  for (std::uint32_t& p : parts) {
    p = std::min(left, static_cast<std::uint32_t>(side));
    while (left % p != 0) --p;
    left /= p;
    used *= p;
  }
  using homing::axis;
  return {{axis::block(side, parts[0]), axis::block(side, parts[1]), axis::block(side, parts[2])},
          homing::domain_set::first(used)};
}

problem::problem(const request& r) : class_(classes[r.size]) {
  for (std::size_t side = 2; side <= class_.side; side *= 2) levels_.emplace_back(side);
}

// +1 where the specification's random numbers are largest, -1 where they are smallest, ten of each.
void problem::put_charges() {
  constexpr std::size_t charges = 10;
  std::vector<std::pair<double, std::size_t>> least;
  std::vector<std::pair<double, std::size_t>> most;
  const auto consider = [](auto& chosen, double value, std::size_t at) {
    if (chosen.size() == charges && value >= chosen.back().first) return;
    if (chosen.size() == charges) chosen.pop_back();
    chosen.insert(std::ranges::upper_bound(chosen, std::pair(value, at)), {value, at});
  };
  std::uint64_t x = 314'159'265;
  for (std::size_t i = 0; i < levels_.back().size(); ++i) {
    x = x * 1'220'703'125 & ((std::uint64_t{1} << 46) - 1);
    consider(least, static_cast<double>(x), i);
    consider(most, -static_cast<double>(x), i);
  }
  for (const auto& [value, at] : least) v_[at] = -1;
  for (const auto& [value, at] : most) v_[at] = 1;
}

void problem::zero(double* of, std::size_t k, const box<3>& part) const {
  const cells to{of, levels_[k].side};
  for (std::size_t i = part.first[0]; i < part.last[0]; ++i) {
    for (std::size_t j = part.first[1]; j < part.last[1]; ++j) {
      std::fill(to.row(i, j) + part.first[2], to.row(i, j) + part.last[2], 0.0);
    }
  }
}

double problem::square_of_residual(const box<3>& part) const {
  const level& l = levels_.back();
  const cells r{l.r, l.side};
  double sum = 0;
  for (std::size_t i = part.first[0]; i < part.last[0]; ++i) {
    for (std::size_t j = part.first[1]; j < part.last[1]; ++j) {
      const double* const row = r.row(i, j);
#pragma omp simd reduction(+ : sum)
      for (std::size_t k = part.first[2]; k < part.last[2]; ++k) sum += row[k] * row[k];
    }
  }
  return sum;
}

void problem::residual_of(std::size_t k, const box<3>& part) const {
  const level& l = levels_[k];
  mg::residual({l.u, l.side}, {k + 1 == levels_.size() ? v_ : l.r, l.side}, {l.r, l.side}, a, part);
}

void problem::smooth_level(std::size_t k, const box<3>& part) const {
  const level& l = levels_[k];
  mg::smooth({l.r, l.side}, {l.u, l.side}, class_.smoother, part);
}

void problem::restrict_to_level(std::size_t k, const box<3>& part) const {
  const level& coarse = levels_[k];
  mg::restrict_to({levels_[k + 1].r, levels_[k + 1].side}, {coarse.r, coarse.side}, part);
}

void problem::prolong_to_level(std::size_t k, const box<3>& part) const {
  const level& fine = levels_[k];
  mg::prolong({levels_[k - 1].u, levels_[k - 1].side}, {fine.u, fine.side}, part);
}

void problem::found(double square) { norm_ = std::sqrt(square / static_cast<double>(levels_.back().size())); }

std::string problem::wrong() const {
  if (std::abs(norm_ - class_.norm) <= 1e-8 * class_.norm) return "";
  char text[64];
  std::snprintf(text, sizeof text, "rnm2 is %.13e", norm_);
  return text;
}

std::vector<homing::memory_range> problem::data() const {
  std::vector<homing::memory_range> all{{v_, levels_.back().size() * sizeof(double)}};
  for (const level& l : levels_) {
    for (double* const of : {l.u, l.r}) all.emplace_back(of, l.size() * sizeof(double));
  }
  return all;
}

solver_in_pages::solver_in_pages(const request& r) : p_(r) {
  const auto pages = [&](std::size_t size) { return pages_.emplace_back(size).data(); };
  for (level& l : p_.levels()) {
    l.u = pages(l.size());
    l.r = pages(l.size());
  }
  p_.see_charges(pages(p_.top().size()));
}

programs::description about() noexcept { return {"mg", "NAS MG: multigrid on a periodic cube.", "Mop", sizes}; }

}  // namespace mg
