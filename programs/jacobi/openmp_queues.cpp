// OpenMP tasks with locality queues (the paper's section 2.2): a task for each block, submitted so that the queues of
// all domains fill at the same time ("kji"). Lattices are touched first by static worksharing.
#include <homing/openmp.hpp>

#include "../common/openmp.hpp"
#include "problem.hpp"

namespace jacobi_program {
namespace {

using queues = homing::locality_queues<std::size_t>;

class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() {
    const std::size_t blocks = p_.blocks().size();
#pragma omp parallel for schedule(static)
    for (std::size_t b = 0; b < blocks; ++b) p_.touch(b, b + 1);
  }
  void run() {
#pragma omp parallel
#pragma omp single
    for (int s = 0; s < p_.sweeps(); ++s) {
      submit(s);
#pragma omp taskwait
    }
  }

 private:
  void submit(int s) {
    const std::size_t parts = programs::part_count();
    const std::size_t blocks = p_.blocks().size();
    for (std::size_t i = 0; i <= blocks / parts; ++i) {
      for (std::size_t p = 0; p < parts; ++p) {
        const programs::interval own = programs::share_of(blocks, parts, p);
        if (i >= own.size()) continue;
        const std::size_t b = own.first + i;
        homing::openmp::submit(queues_, p_.blocks().home_of(b), b,
                               [this, s](const queues::entry& taken) { p_.sweep(s, taken.item, taken.item + 1); });
      }
    }
  }

  queues queues_;
};

}  // namespace
}  // namespace jacobi_program

programs::variant_list jacobi_program::openmp_queues_variants() {
  return {{"openmp-queues", "OpenMP tasks with locality queues", programs::measure<solver, programs::openmp_threads>}};
}
