// OpenMP: one parallel region for all outer iterations, and worksharing loops inside. Sums have a place of their own in
// each iteration, set to zero beforehand, so that no thread waits for another to clear one.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace cg {
namespace {

using programs::binding;

template <binding Threads>
class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() {
    programs::in_team<Threads>([this] { fill(); });
    iterate(1);
    programs::in_team<Threads>([this] { fill(); });
    p_.forget();
  }
  void run() { iterate(p_.iterations()); }

 private:
  struct sums_of_outer {
    double rho[inner_iterations + 1] = {};
    double d[inner_iterations] = {};
    double xz = 0;
    double zz = 0;
  };

  void fill() {
#pragma omp for schedule(static)
    for (std::size_t j = 0; j < p_.size(); ++j) p_.one(j);
  }
  void iterate(int times) {
    sums_.assign(static_cast<std::size_t>(times), {});
    programs::in_team<Threads>([this] {
      const programs::interval own = programs::static_share(p_.size());
      for (sums_of_outer& s : sums_) {
        outer_iteration(s);
        for (int loop = 0; loop < 3 + 3 * inner_iterations; ++loop)
          programs::count_work(p_.rows(), own.first, own.last);
      }
    });
    for (const sums_of_outer& s : sums_) {
      for (int i = 0; i < inner_iterations; ++i) p_.found_inner(s.rho[i], s.d[i]);
      p_.found_outer(s.xz);
    }
  }

  // By all threads of the team. Each loop gives a thread the same rows: where the next loop reads only these, nobody
  // waits.
  void outer_iteration(sums_of_outer& s) {
    const std::size_t n = p_.size();
    conj_grad(s);
    double& xz = s.xz;
    double& zz = s.zz;
#pragma omp for simd schedule(static) reduction(+ : xz, zz)
    for (std::size_t j = 0; j < n; ++j) {
      xz += p_.xz(j);
      zz += p_.zz(j);
    }
    const double by = 1 / std::sqrt(zz);
#pragma omp for simd schedule(static) nowait
    for (std::size_t j = 0; j < n; ++j) p_.scale(by, j);
  }
  void conj_grad(sums_of_outer& s) {
    const std::size_t n = p_.size();
    double& first_rho = s.rho[0];
#pragma omp for schedule(static) reduction(+ : first_rho)
    for (std::size_t j = 0; j < n; ++j) first_rho += p_.begin(j);
    for (int i = 0; i < inner_iterations; ++i) {
      double& d = s.d[i];
#pragma omp for schedule(static) reduction(+ : d)
      for (std::size_t j = 0; j < n; ++j) d += p_.multiply(j);
      const double alpha = s.rho[i] / d;
      double& rho = s.rho[i + 1];
#pragma omp for simd schedule(static) reduction(+ : rho)
      for (std::size_t j = 0; j < n; ++j) rho += p_.advance(alpha, j);
      const double beta = rho / s.rho[i];
#pragma omp for simd schedule(static)
      for (std::size_t j = 0; j < n; ++j) p_.turn(beta, j);
    }
  }

  std::vector<sums_of_outer> sums_;
};

}  // namespace
}  // namespace cg

programs::variant_list programs::openmp_variants() {
  return {{"openmp", "one region, worksharing loops", measure<cg::solver<binding::none>, openmp_threads>},
          {"openmp-affinity", "the same with OMP_PLACES and proc_bind",
           measure<cg::solver<binding::places>, openmp_threads>}};
}
