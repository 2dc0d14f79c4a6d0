// OpenMP has no pipeline: a task for each query, and the list of results has the order. The affinity clause names the
// query's pixels, as its data; the index is everywhere.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace ferret {
namespace {

using programs::binding;

template <binding Threads>
class solver : public solver_with_index {
 public:
  using solver_with_index::solver_with_index;
  void run() {
    programs::in_tasks<Threads>([this] {
      for (std::size_t q = 0; q < p_.queries(); ++q) {
        if constexpr (Threads == binding::none) {
#pragma omp task firstprivate(q)
          p_.whole(q);
        } else {
          [[maybe_unused]] const picture& pixels = p_.pixels_of(q);
#pragma omp task firstprivate(q) affinity(pixels)
          p_.whole(q);
        }
      }
    });
  }
};

}  // namespace
}  // namespace ferret

programs::variant_list programs::openmp_variants() {
  using namespace ferret;
  return {{"openmp", "a task for each query", measure<solver<binding::none>, openmp_threads>},
          {"openmp-affinity", "the same with OMP_PLACES, proc_bind and affinity clauses",
           measure<solver<binding::places>, openmp_threads>}};
}
