// A task_arena for each NUMA node, with its share of the blocks of points: oneTBB's advice.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "../common/node_arenas.hpp"
#include "problem.hpp"

namespace streamcluster {
namespace {

class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r), arenas_(r.threads) { touch(*this); }
  void run() { p_.run(*this); }

  template <class F>
  void over(const homing::regular_distribution<1>& blocks, const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    arenas_.deal(blocks.size(), [&f](std::size_t first, std::size_t last) {
      tbb::parallel_for(
          range(first, last), [&f](const range& r) { f(r.begin(), r.end()); }, tbb::static_partitioner{});
    });
  }

 private:
  programs::node_arenas arenas_;
};

}  // namespace
}  // namespace streamcluster

programs::variant_list programs::tbb_arenas_variants() {
  return {{"tbb-arenas", "one task_arena for each NUMA node", measure<streamcluster::solver, tbb_limit>}};
}
