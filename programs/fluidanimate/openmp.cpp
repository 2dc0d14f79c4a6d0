// OpenMP: a parallel region a frame, with a worksharing loop a phase. Rows are dealt by turns, since the fluid is
// unevenly spread: each thread has the same rows in every phase, and a row is several pages.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace fluid {
namespace {

using programs::binding;

template <binding Threads>
class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() {
    programs::in_team<Threads>([this] { p_.clear(*this); });
    p_.fill();
  }
  void run() {
    for (int frame = 0; frame < p_.frames(); ++frame) {
      programs::in_team<Threads>([this] { p_.phases(*this); });
      p_.end_frame(frame);
    }
  }

  /// By all threads of the team.
  template <class F>
  void over(const F& f) {
    const std::size_t rows = p_.rows().size();
#pragma omp for schedule(static, 1)
    for (std::size_t row = 0; row < rows; ++row) f(row, row + 1);
  }
};

}  // namespace
}  // namespace fluid

programs::variant_list programs::openmp_variants() {
  using namespace fluid;
  return {
      {"openmp", "a region a frame, worksharing by turns", measure<solver<binding::none>, openmp_threads>},
      {"openmp-affinity", "the same with OMP_PLACES and proc_bind", measure<solver<binding::places>, openmp_threads>}};
}
