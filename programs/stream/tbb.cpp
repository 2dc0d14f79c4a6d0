// TBB's loops, with each of its partitioners.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include "../common/tbb_threads.hpp"
#include "loops.hpp"

namespace stream {
namespace {

template <class Partitioner>
class dealt : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;

 protected:
  template <class F>
  void over(const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    tbb::parallel_for(
        range(0, p_.size()), [&f](const range& r) { f(r.begin(), r.end()); }, partitioner_);
  }

 private:
  Partitioner partitioner_;
};

template <class Partitioner>
using solver = solver_by_loops<dealt<Partitioner>>;

}  // namespace
}  // namespace stream

programs::variant_list programs::tbb_variants() {
  using namespace stream;
  return {{"tbb", "auto_partitioner", measure<solver<tbb::auto_partitioner>, tbb_threads>},
          {"tbb-static", "static_partitioner", measure<solver<tbb::static_partitioner>, tbb_threads>},
          {"tbb-affinity", "affinity_partitioner", measure<solver<tbb::affinity_partitioner>, tbb_threads>}};
}
