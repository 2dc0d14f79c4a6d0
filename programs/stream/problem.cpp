#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "../common/parts.hpp"

namespace stream {
namespace {

constexpr programs::size_name sizes[] = {
    {"small", "3 x 8 MiB"},    {"small-far", "the same, each part's pages in the next domain"},
    {"medium", "3 x 128 MiB"}, {"medium-far", "the same, far"},
    {"large", "3 x 1 GiB"},    {"large-far", "the same, far"}};
constexpr std::size_t elements[] = {std::size_t{1} << 20, std::size_t{1} << 24, std::size_t{1} << 27};

/// What is wrong with an array that should have the same value everywhere; empty if nothing is. NaN is wrong.
std::string away_from(double expected, const char* name, std::span<const double> v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (!(std::abs(v[i] - expected) <= 1e-13 * std::abs(expected))) {
      return std::string(name) + ", element " + std::to_string(i) + ": " + std::to_string(v[i]) + ", expected " +
             std::to_string(expected);
    }
  }
  return "";
}

}  // namespace

problem::problem(const request& r) : homes_(homing::block(elements[r.size / 2])), far_(r.size % 2 != 0) {}

homing::regular_distribution<1> problem::one_further() const {
  const std::uint32_t parts = programs::part_count();
  std::vector<homing::domain_index> members;
  for (std::uint32_t p = 1; p <= parts; ++p) members.push_back(homing::domain_index{p % parts});
  return homing::block(size(), homing::domain_set(members));
}

void problem::fill(std::size_t first, std::size_t last) const {
  programs::count_work(homes_, first, last);
  std::fill(a_ + first, a_ + last, 1.0);
  std::fill(b_ + first, b_ + last, 2.0);
  std::fill(c_ + first, c_ + last, 0.0);
}

void problem::copy(std::size_t first, std::size_t last) const {
  programs::count_work(homes_, first, last);
  const double* const a = a_;
  double* const __restrict c = c_;
  for (std::size_t i = first; i < last; ++i) c[i] = a[i];
}

void problem::scale(std::size_t first, std::size_t last) const {
  programs::count_work(homes_, first, last);
  const double* const c = c_;
  double* const __restrict b = b_;
  for (std::size_t i = first; i < last; ++i) b[i] = scalar * c[i];
}

void problem::add(std::size_t first, std::size_t last) const {
  programs::count_work(homes_, first, last);
  const double* const a = a_;
  const double* const b = b_;
  double* const __restrict c = c_;
  for (std::size_t i = first; i < last; ++i) c[i] = a[i] + b[i];
}

void problem::triad(std::size_t first, std::size_t last) const {
  programs::count_work(homes_, first, last);
  const double* const b = b_;
  const double* const c = c_;
  double* const __restrict a = a_;
  for (std::size_t i = first; i < last; ++i) a[i] = b[i] + scalar * c[i];
}

void problem::expect() {
  for (int l = 0; l < loops; ++l) {
    expected_c_ = expected_a_;
    expected_b_ = scalar * expected_c_;
    expected_c_ = expected_a_ + expected_b_;
    expected_a_ = expected_b_ + scalar * expected_c_;
  }
}

std::string problem::wrong() const {
  for (const std::string& wrong : {away_from(expected_a_, "a", {a_, size()}), away_from(expected_b_, "b", {b_, size()}),
                                   away_from(expected_c_, "c", {c_, size()})}) {
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::vector<homing::memory_range> problem::data() const {
  const std::size_t bytes = size() * sizeof(double);
  return {{a_, bytes}, {b_, bytes}, {c_, bytes}};
}

programs::description about() noexcept { return {"stream", "STREAM: copy, scale, add, triad.", "MB", sizes}; }

}  // namespace stream
