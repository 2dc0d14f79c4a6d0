// TBB's loops over rows of cells, with each of its partitioners. The fluid is unevenly spread.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace fluid {
namespace {

template <class Partitioner>
class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() {
    p_.clear(*this);
    p_.fill();
  }
  void run() { p_.run(*this); }

  template <class F>
  void over(const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    tbb::parallel_for(
        range(0, p_.rows().size()), [&f](const range& r) { f(r.begin(), r.end()); }, partitioner_);
  }

 private:
  Partitioner partitioner_;
};

}  // namespace
}  // namespace fluid

programs::variant_list programs::tbb_variants() {
  using namespace fluid;
  return {{"tbb", "auto_partitioner", measure<solver<tbb::auto_partitioner>, tbb_threads>},
          {"tbb-static", "static_partitioner", measure<solver<tbb::static_partitioner>, tbb_threads>},
          {"tbb-affinity", "affinity_partitioner", measure<solver<tbb::affinity_partitioner>, tbb_threads>}};
}
