// STREAM's four kernels, dealt statically; with the pages of each part near its threads, or one domain further: far.
#pragma once

#include <homing/distribution.hpp>
#include <homing/placement.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "../common/at_home.hpp"
#include "../common/variants.hpp"

namespace stream {

using programs::array;
using programs::request;

inline constexpr int loops = 10;
inline constexpr double scalar = 0.41;  // STREAM's 3.0 would overflow after enough loops

/// The arrays a, b and c, in memory that the variant has made, and what each kernel does to elements first..last-1.
class problem {
 public:
  explicit problem(const request& r);
  [[nodiscard]] const homing::regular_distribution<1>& homes() const { return homes_; }
  [[nodiscard]] std::size_t size() const { return homes_.size(); }
  /// Whether pages are to be one domain further than their elements, and where that is.
  [[nodiscard]] bool is_far() const { return far_; }
  [[nodiscard]] homing::regular_distribution<1> one_further() const;
  void see(double* a, double* b, double* c) { a_ = a, b_ = b, c_ = c; }

  void fill(std::size_t first, std::size_t last) const;
  void copy(std::size_t first, std::size_t last) const;
  void scale(std::size_t first, std::size_t last) const;
  void add(std::size_t first, std::size_t last) const;
  void triad(std::size_t first, std::size_t last) const;
  /// One element goes the same way, once for all loops.
  void expect();

  [[nodiscard]] std::string wrong() const;
  [[nodiscard]] std::vector<homing::memory_range> data() const;
  /// Megabytes as STREAM counts them: two, two, three and three arrays.
  [[nodiscard]] double amount() const { return loops * 10.0 * sizeof(double) * static_cast<double>(size()) / 1e6; }

 private:
  homing::regular_distribution<1> homes_;
  bool far_;
  double *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  double expected_a_ = 1, expected_b_ = 2, expected_c_ = 0;
};

/// Three arrays in plain pages, which the variant's own loop touches first; then those of *far* are moved.
class solver_in_pages {
 public:
  explicit solver_in_pages(const request& r) : p_(r), a_(p_.size()), b_(p_.size()), c_(p_.size()) {
    p_.see(a_.data(), b_.data(), c_.data());
  }
  void reset() {}
  [[nodiscard]] std::string wrong() const { return p_.wrong(); }
  [[nodiscard]] double amount() const { return p_.amount(); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return p_.data(); }
  [[nodiscard]] programs::migration moved() const { return moved_; }

 protected:
  void move_if_far() {
    if (!p_.is_far()) return;
    for (array<double>* const v : {&a_, &b_, &c_}) programs::place(p_.one_further(), *v, moved_);
  }
  problem p_;

 private:
  array<double> a_, b_, c_;
  programs::migration moved_;
};

[[nodiscard]] programs::description about() noexcept;

}  // namespace stream
