// The method as loops and sums over rows, one after the other: a variant says how one of them runs.
#pragma once

#include <cmath>
#include <utility>

#include "problem.hpp"

namespace cg {

/// `How` has the problem `p_`, and runs f(first, last) over all rows by each(f), and by sum(f) if f returns a number.
template <class How>
class solver_by_loops : public How {
 public:
  using How::How;
  void reset() {
    each([&](std::size_t first, std::size_t last) { p_.ones(first, last); });
    outer_iteration();
    each([&](std::size_t first, std::size_t last) { p_.ones(first, last); });
    p_.forget();
  }
  void run() {
    for (int i = 0; i < p_.iterations(); ++i) outer_iteration();
  }

 private:
  using How::each;
  using How::p_;
  using How::sum;

  void outer_iteration() {
    conj_grad();
    p_.found_outer(sum([&](std::size_t first, std::size_t last) { return p_.xz(first, last); }));
    const double by = 1 / std::sqrt(sum([&](std::size_t first, std::size_t last) { return p_.zz(first, last); }));
    each([&](std::size_t first, std::size_t last) { p_.scale(by, first, last); });
  }
  void conj_grad() {
    double rho = sum([&](std::size_t first, std::size_t last) { return p_.begin(first, last); });
    for (int i = 0; i < inner_iterations; ++i) {
      const double d = sum([&](std::size_t first, std::size_t last) { return p_.multiply(first, last); });
      p_.found_inner(rho, d);
      const double alpha = rho / d;
      const double next = sum([&](std::size_t first, std::size_t last) { return p_.advance(alpha, first, last); });
      const double beta = next / std::exchange(rho, next);
      each([&](std::size_t first, std::size_t last) { p_.turn(beta, first, last); });
    }
  }
};

}  // namespace cg
