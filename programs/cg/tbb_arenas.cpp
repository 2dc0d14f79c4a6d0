// A task_arena for each NUMA node, with a block of rows: oneTBB's advice.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>

#include <functional>

#include "../common/node_arenas.hpp"
#include "problem.hpp"

namespace cg {
namespace {

using range = tbb::blocked_range<std::size_t>;

class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r), arenas_(r.threads), sums_(arenas_.count()) {}
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
    arenas_.deal(p_.size(), [&](std::size_t first, std::size_t last) {
      tbb::parallel_for(
          range(first, last), [&](const range& rows) { f(rows.begin(), rows.end()); }, tbb::static_partitioner{});
    });
  }
  template <class F>
  double sum(const F& f) {
    arenas_.in_each([&](std::size_t a) {
      const programs::interval own = programs::share_of(p_.size(), arenas_.count(), a);
      sums_[a].value = tbb::parallel_reduce(
          range(own.first, own.last), 0.0,
          [&](const range& rows, double so_far) { return so_far + f(rows.begin(), rows.end()); }, std::plus<>(),
          tbb::static_partitioner{});
    });
    double all = 0;
    for (const part_of_sum& s : sums_) all += s.value;
    return all;
  }

  struct alignas(64) part_of_sum {
    double value = 0;
  };
  programs::node_arenas arenas_;
  std::vector<part_of_sum> sums_;  ///< an arena's each
};

}  // namespace
}  // namespace cg

programs::variant_list programs::tbb_arenas_variants() {
  return {{"tbb-arenas", "one task_arena for each NUMA node", measure<cg::solver, tbb_limit>}};
}
