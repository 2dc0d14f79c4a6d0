// OpenMP: one parallel region for all loops, and each thread has the same part in all of them. Nobody reads another's
// part; the barriers between the kernels are STREAM's, whose loops are timed one by one.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace stream {
namespace {

using programs::binding;

template <binding Threads>
class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r) {
    programs::in_team<Threads>([this] {
      const programs::interval own = programs::static_share(p_.size());
      p_.fill(own.first, own.last);
    });
    move_if_far();
  }
  void run() {
    programs::in_team<Threads>([this] {
      const programs::interval own = programs::static_share(p_.size());
      for (int l = 0; l < loops; ++l) {
        p_.copy(own.first, own.last);
#pragma omp barrier
        p_.scale(own.first, own.last);
#pragma omp barrier
        p_.add(own.first, own.last);
#pragma omp barrier
        p_.triad(own.first, own.last);
#pragma omp barrier
      }
    });
    p_.expect();
  }
};

}  // namespace
}  // namespace stream

programs::variant_list programs::openmp_variants() {
  using namespace stream;
  return {
      {"openmp", "one region, schedule(static)", measure<solver<binding::none>, openmp_threads>},
      {"openmp-affinity", "the same with OMP_PLACES and proc_bind", measure<solver<binding::places>, openmp_threads>}};
}
