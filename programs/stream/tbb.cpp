// TBB's loops, with each of its partitioners.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace stream {
namespace {

template <class Partitioner>
class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r) {
    over([this](std::size_t first, std::size_t last) { p_.fill(first, last); });
    move_if_far();
  }
  void run() {
    for (int l = 0; l < loops; ++l) {
      over([this](std::size_t first, std::size_t last) { p_.copy(first, last); });
      over([this](std::size_t first, std::size_t last) { p_.scale(first, last); });
      over([this](std::size_t first, std::size_t last) { p_.add(first, last); });
      over([this](std::size_t first, std::size_t last) { p_.triad(first, last); });
    }
    p_.expect();
  }

 private:
  template <class F>
  void over(const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    tbb::parallel_for(
        range(0, p_.size()), [&f](const range& r) { f(r.begin(), r.end()); }, partitioner_);
  }

  Partitioner partitioner_;
};

}  // namespace
}  // namespace stream

programs::variant_list programs::tbb_variants() {
  using namespace stream;
  return {{"tbb", "auto_partitioner", measure<solver<tbb::auto_partitioner>, tbb_threads>},
          {"tbb-static", "static_partitioner", measure<solver<tbb::static_partitioner>, tbb_threads>},
          {"tbb-affinity", "affinity_partitioner", measure<solver<tbb::affinity_partitioner>, tbb_threads>}};
}
