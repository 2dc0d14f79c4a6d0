// TBB's loops over three-dimensional ranges, with each of its partitioners.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/partitioner.h>

#include <deque>
#include <functional>

#include "../common/tbb_threads.hpp"
#include "ranges.hpp"

namespace mg {
namespace {

template <class Partitioner>
class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r), partitioners_(p_.levels().size()) {
    p_.zero_all(*this);
    p_.put_charges();
  }
  void reset() { p_.zero_top(*this); }
  void run() {
    p_.solve(*this);
    const auto square = [this](const range& r, double so_far) { return so_far + square_of(r); };
    p_.found(tbb::parallel_reduce(all_of(p_.top()), 0.0, square, std::plus<>(), partitioners_.back()));
  }

  /// f(box) for the points of level k.
  template <class F>
  void over(std::size_t k, const F& f) {
    const level& l = p_.levels()[k];
    tbb::parallel_for(
        all_of(l), [&](const range& r) { counted(l, r, f); }, partitioners_[k]);
  }

 private:
  double square_of(const range& r) const {
    return counted(p_.top(), r, [this](const box<3>& part) { return p_.square_of_residual(part); });
  }

  std::deque<Partitioner> partitioners_;  ///< one a level: affinity_partitioner learns who has which of its points
};

}  // namespace
}  // namespace mg

programs::variant_list programs::tbb_variants() {
  return {{"tbb", "auto_partitioner", measure<mg::solver<tbb::auto_partitioner>, tbb_threads>},
          {"tbb-static", "static_partitioner", measure<mg::solver<tbb::static_partitioner>, tbb_threads>},
          {"tbb-affinity", "affinity_partitioner", measure<mg::solver<tbb::affinity_partitioner>, tbb_threads>}};
}
