// A task_arena for each NUMA node, with its share of the blocks of sites: oneTBB's advice.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "../common/node_arenas.hpp"
#include "problem.hpp"

namespace jacobi_program {
namespace {

class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r), arenas_(r.threads) {}
  void reset() {
    over([this](std::size_t first, std::size_t last) { p_.touch(first, last); });
  }
  void run() {
    for (int s = 0; s < p_.sweeps(); ++s) {
      over([this, s](std::size_t first, std::size_t last) { p_.sweep(s, first, last); });
    }
  }

 private:
  template <class F>
  void over(const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    arenas_.deal(p_.blocks().size(), [&f](std::size_t first, std::size_t last) {
      tbb::parallel_for(
          range(first, last), [&f](const range& r) { f(r.begin(), r.end()); }, tbb::static_partitioner{});
    });
  }

  programs::node_arenas arenas_;
};

}  // namespace
}  // namespace jacobi_program

programs::variant_list programs::tbb_arenas_variants() {
  return {{"tbb-arenas", "one task_arena for each NUMA node", measure<jacobi_program::solver, tbb_limit>}};
}
