// OpenMP: a task for each next board.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace nqueens {
namespace {

using programs::binding;

template <binding Threads>
class solver : public problem {
 public:
  using problem::problem;
  void run() {
    programs::in_tasks<Threads>([this] { result_ = count(empty()); });
  }

 private:
  std::uint64_t count(const board& b) const {
    if (b.rows <= rows_alone) return alone(b);
    const boards children = next(b);
    std::array<std::uint64_t, 32> ways{};
    for (std::size_t i = 0; i < children.count; ++i) {
#pragma omp task shared(children, ways) firstprivate(i)
      ways[i] = count(children.at[i]);
    }
#pragma omp taskwait
    std::uint64_t sum = 0;
    for (const std::uint64_t w : ways) sum += w;
    return sum;
  }
};

}  // namespace
}  // namespace nqueens

programs::variant_list programs::openmp_variants() {
  using namespace nqueens;
  return {
      {"openmp", "tasks", measure<solver<binding::none>, openmp_threads>},
      {"openmp-affinity", "the same with OMP_PLACES and proc_bind", measure<solver<binding::places>, openmp_threads>}};
}
