// TBB's loops and reductions, with each of its partitioners.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/partitioner.h>

#include <functional>

#include "../common/tbb_threads.hpp"
#include "loops.hpp"

namespace cg {
namespace {

using range = tbb::blocked_range<std::size_t>;

template <class Partitioner>
class dealt : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;

 protected:
  template <class F>
  void each(const F& f) {
    tbb::parallel_for(
        range(0, p_.size()), [&](const range& rows) { f(rows.begin(), rows.end()); }, partitioner_);
  }
  template <class F>
  double sum(const F& f) {
    return tbb::parallel_reduce(
        range(0, p_.size()), 0.0,
        [&](const range& rows, double so_far) { return so_far + f(rows.begin(), rows.end()); }, std::plus<>(),
        partitioner_);
  }

 private:
  Partitioner partitioner_;  ///< one for all loops: affinity_partitioner learns from each which thread has which rows
};

template <class Partitioner>
using solver = solver_by_loops<dealt<Partitioner>>;

}  // namespace
}  // namespace cg

programs::variant_list programs::tbb_variants() {
  return {{"tbb", "auto_partitioner", measure<cg::solver<tbb::auto_partitioner>, tbb_threads>},
          {"tbb-static", "static_partitioner", measure<cg::solver<tbb::static_partitioner>, tbb_threads>},
          {"tbb-affinity", "affinity_partitioner", measure<cg::solver<tbb::affinity_partitioner>, tbb_threads>}};
}
