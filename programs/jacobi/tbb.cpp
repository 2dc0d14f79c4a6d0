// TBB's loops over blocks of sites, with each of its partitioners.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace jacobi_program {
namespace {

template <class Partitioner>
class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() {
    over([this](std::size_t first, std::size_t last) { p_.touch(first, last); });
  }
  void run() {
    for (int s = 0; s < p_.sweeps(); ++s) {
      over([this, s](std::size_t first, std::size_t last) { p_.sweep(s, first, last); });
    }
  }

 private:
  template <class F>
  void over(const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    tbb::parallel_for(
        range(0, p_.blocks().size()), [&f](const range& r) { f(r.begin(), r.end()); }, partitioner_);
  }

  Partitioner partitioner_;
};

}  // namespace
}  // namespace jacobi_program

programs::variant_list programs::tbb_variants() {
  using namespace jacobi_program;
  return {{"tbb", "auto_partitioner", measure<solver<tbb::auto_partitioner>, tbb_threads>},
          {"tbb-static", "static_partitioner", measure<solver<tbb::static_partitioner>, tbb_threads>},
          {"tbb-affinity", "affinity_partitioner", measure<solver<tbb::affinity_partitioner>, tbb_threads>}};
}
