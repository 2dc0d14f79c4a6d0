// One thread.
#include "problem.hpp"

namespace cg {
namespace {

class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() {
    p_.ones(0, p_.size());
    outer_iteration();
    p_.ones(0, p_.size());
    p_.forget();
  }
  void run() {
    for (int i = 0; i < p_.iterations(); ++i) outer_iteration();
  }

 private:
  void outer_iteration() {
    const std::size_t n = p_.size();
    conj_grad();
    p_.found_outer(p_.xz(0, n));
    p_.scale(1 / std::sqrt(p_.zz(0, n)), 0, n);
  }
  void conj_grad() {
    const std::size_t n = p_.size();
    double rho = p_.begin(0, n);
    for (int i = 0; i < inner_iterations; ++i) {
      const double d = p_.multiply(0, n);
      p_.found_inner(rho, d);
      const double next = p_.advance(rho / d, 0, n);
      p_.turn(next / std::exchange(rho, next), 0, n);
    }
  }
};

}  // namespace
}  // namespace cg

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<cg::solver, one_thread>}};
}
