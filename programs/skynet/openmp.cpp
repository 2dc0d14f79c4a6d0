// OpenMP: a task for each node.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace skynet {
namespace {

using programs::binding;

std::uint64_t sum(std::uint64_t first, std::uint64_t count) {
  if (count == 1) return first;
  sums_of_children sums{};
  const std::uint64_t each = count / fan_out;
  for (std::uint64_t i = 1; i < fan_out; ++i) {
#pragma omp task shared(sums) firstprivate(i, first, each)
    sums[i] = sum(first + i * each, each);
  }
  sums[0] = sum(first, each);
#pragma omp taskwait
  return total(sums);
}

template <binding Threads>
class solver : public problem {
 public:
  using problem::problem;
  void run() {
    programs::in_tasks<Threads>([this] { result_ = sum(0, leaves_); });
  }
};

}  // namespace
}  // namespace skynet

programs::variant_list programs::openmp_variants() {
  using namespace skynet;
  return {
      {"openmp", "tasks", measure<solver<binding::none>, openmp_threads>},
      {"openmp-affinity", "the same with OMP_PLACES and proc_bind", measure<solver<binding::places>, openmp_threads>}};
}
