// OpenMP: a task for each node.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace uts {
namespace {

using programs::binding;

template <binding Threads>
class solver : public problem {
 public:
  using problem::problem;
  void run() {
    programs::in_tasks<Threads>([this] { nodes_ = count(root()); });
  }

 private:
  std::uint64_t count(const node& n) const {
    const std::size_t children = children_of(n);
    std::uint64_t below = 1;
    for (std::size_t i = 0; i < children; ++i) {
#pragma omp task shared(n, below) firstprivate(i)
      {
        const std::uint64_t found = count(child_of(n, i));
#pragma omp atomic
        below += found;
      }
    }
#pragma omp taskwait
    return below;
  }
};

}  // namespace
}  // namespace uts

programs::variant_list programs::openmp_variants() {
  using namespace uts;
  return {
      {"openmp", "tasks", measure<solver<binding::none>, openmp_threads>},
      {"openmp-affinity", "the same with OMP_PLACES and proc_bind", measure<solver<binding::places>, openmp_threads>}};
}
