// OpenMP: a parallel region for each loop, since one thread decides between them. Each thread has one run of blocks.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace streamcluster {
namespace {

using programs::binding;

template <binding Threads>
class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r) { touch(*this); }
  void run() { p_.run(*this); }

  template <class F>
  void over(const homing::regular_distribution<1>& blocks, const F& f) {
    programs::in_team<Threads>([&] {
      const programs::interval own = programs::static_share(blocks.size());
      f(own.first, own.last);
    });
  }
};

}  // namespace
}  // namespace streamcluster

programs::variant_list programs::openmp_variants() {
  using namespace streamcluster;
  return {
      {"openmp", "worksharing", measure<solver<binding::none>, openmp_threads>},
      {"openmp-affinity", "the same with OMP_PLACES and proc_bind", measure<solver<binding::places>, openmp_threads>}};
}
