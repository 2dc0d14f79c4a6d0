// OpenMP: a task for each call.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace fib {
namespace {

using programs::binding;

std::uint64_t number(int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  std::uint64_t a = 0;
#pragma omp task shared(a) firstprivate(n)
  a = number(n - 1);
  const std::uint64_t b = number(n - 2);
#pragma omp taskwait
  return a + b;
}

template <binding Threads>
class solver : public problem {
 public:
  using problem::problem;
  void run() {
    programs::in_tasks<Threads>([this] { result_ = number(argument()); });
  }
};

}  // namespace
}  // namespace fib

programs::variant_list programs::openmp_variants() {
  using namespace fib;
  return {
      {"openmp", "tasks", measure<solver<binding::none>, openmp_threads>},
      {"openmp-affinity", "the same with OMP_PLACES and proc_bind", measure<solver<binding::places>, openmp_threads>}};
}
