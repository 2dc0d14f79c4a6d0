// OpenMP: a task for each left half.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace integrate {
namespace {

using programs::binding;

double area_of(const piece& p) {
  const problem::halves h = problem::halve(p);
  if (problem::is_fine(p, h)) return h.area();
  double a = 0;
#pragma omp task shared(a, h)
  a = area_of(h.left);
  const double b = area_of(h.right);
#pragma omp taskwait
  return a + b;
}

template <binding Threads>
class solver : public problem {
 public:
  using problem::problem;
  void run() {
    programs::in_tasks<Threads>([this] { result_ = area_of(all()); });
  }
};

}  // namespace
}  // namespace integrate

programs::variant_list programs::openmp_variants() {
  using namespace integrate;
  return {
      {"openmp", "tasks", measure<solver<binding::none>, openmp_threads>},
      {"openmp-affinity", "the same with OMP_PLACES and proc_bind", measure<solver<binding::places>, openmp_threads>}};
}
