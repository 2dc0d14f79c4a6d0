// TBB's loops over blocks of points, with each of its partitioners.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace streamcluster {
namespace {

template <class Partitioner>
class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r) { touch(*this); }
  void run() { p_.run(*this); }

  template <class F>
  void over(const homing::regular_distribution<1>& blocks, const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    tbb::parallel_for(
        range(0, blocks.size()), [&f](const range& r) { f(r.begin(), r.end()); }, partitioner_);
  }

 private:
  Partitioner partitioner_;
};

}  // namespace
}  // namespace streamcluster

programs::variant_list programs::tbb_variants() {
  using namespace streamcluster;
  return {{"tbb", "auto_partitioner", measure<solver<tbb::auto_partitioner>, tbb_threads>},
          {"tbb-static", "static_partitioner", measure<solver<tbb::static_partitioner>, tbb_threads>},
          {"tbb-affinity", "affinity_partitioner", measure<solver<tbb::affinity_partitioner>, tbb_threads>}};
}
