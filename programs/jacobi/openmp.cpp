// OpenMP: worksharing over all blocks, as the paper's first code; one parallel region for all sweeps.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace jacobi_program {
namespace {

using programs::binding;

template <binding Threads>
class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() {
    programs::in_team<Threads>([this] { over([this](std::size_t b) { p_.touch(b, b + 1); }); });
  }
  void run() {
    programs::in_team<Threads>([this] {
      for (int s = 0; s < p_.sweeps(); ++s) over([this, s](std::size_t b) { p_.sweep(s, b, b + 1); });
    });
  }

 private:
  // By all threads of the team.
  template <class F>
  void over(const F& f) {
    const std::size_t blocks = p_.blocks().size();
#pragma omp for schedule(static)
    for (std::size_t b = 0; b < blocks; ++b) f(b);
  }
};

}  // namespace
}  // namespace jacobi_program

programs::variant_list programs::openmp_variants() {
  using namespace jacobi_program;
  return {
      {"openmp", "one region, worksharing loops", measure<solver<binding::none>, openmp_threads>},
      {"openmp-affinity", "the same with OMP_PLACES and proc_bind", measure<solver<binding::places>, openmp_threads>}};
}
