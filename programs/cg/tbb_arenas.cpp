// A task_arena for each NUMA node, with a block of rows: oneTBB's advice.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>

#include <functional>

#include "../common/node_arenas.hpp"
#include "loops.hpp"

namespace cg {
namespace {

using range = tbb::blocked_range<std::size_t>;

class dealt : public solver_in_pages {
 public:
  explicit dealt(const request& r) : solver_in_pages(r), arenas_(r.threads), sums_(arenas_.count()) {}

 protected:
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

 private:
  struct alignas(64) part_of_sum {
    double value = 0;
  };
  programs::node_arenas arenas_;
  std::vector<part_of_sum> sums_;  ///< an arena's each
};

}  // namespace
}  // namespace cg

programs::variant_list programs::tbb_arenas_variants() {
  return {{"tbb-arenas", "one task_arena for each NUMA node", measure<cg::solver_by_loops<cg::dealt>, tbb_limit>}};
}
