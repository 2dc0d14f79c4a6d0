// TBB's loops and reductions, with each of its partitioners.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/partitioner.h>

#include <functional>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace cg {
namespace {

using range = tbb::blocked_range<std::size_t>;

template <class Partitioner>
class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() {
    each([&](std::size_t first, std::size_t last) { p_.ones(first, last); });
    outer_iteration();
    each([&](std::size_t first, std::size_t last) { p_.ones(first, last); });
    p_.forget();
  }
  void run() {
    for (int i = 0; i < p_.iterations(); ++i) outer_iteration();
  }

 private:
  void outer_iteration() {
    conj_grad();
    p_.found_outer(sum([&](std::size_t first, std::size_t last) { return p_.xz(first, last); }));
    const double by = 1 / std::sqrt(sum([&](std::size_t first, std::size_t last) { return p_.zz(first, last); }));
    each([&](std::size_t first, std::size_t last) { p_.scale(by, first, last); });
  }
  void conj_grad() {
    double rho = sum([&](std::size_t first, std::size_t last) { return p_.begin(first, last); });
    for (int i = 0; i < inner_iterations; ++i) {
      const double d = sum([&](std::size_t first, std::size_t last) { return p_.multiply(first, last); });
      p_.found_inner(rho, d);
      const double alpha = rho / d;
      const double next = sum([&](std::size_t first, std::size_t last) { return p_.advance(alpha, first, last); });
      const double beta = next / std::exchange(rho, next);
      each([&](std::size_t first, std::size_t last) { p_.turn(beta, first, last); });
    }
  }

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

  Partitioner partitioner_;  ///< one for all loops: affinity_partitioner learns from each which thread has which rows
};

}  // namespace
}  // namespace cg

programs::variant_list programs::tbb_variants() {
  return {{"tbb", "auto_partitioner", measure<cg::solver<tbb::auto_partitioner>, tbb_threads>},
          {"tbb-static", "static_partitioner", measure<cg::solver<tbb::static_partitioner>, tbb_threads>},
          {"tbb-affinity", "affinity_partitioner", measure<cg::solver<tbb::affinity_partitioner>, tbb_threads>}};
}
