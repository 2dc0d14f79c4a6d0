// A task_arena for each NUMA node, with a slab of the tank: oneTBB's advice.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "../common/node_arenas.hpp"
#include "problem.hpp"

namespace fluid {
namespace {

class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r), arenas_(r.threads) {}
  void reset() {
    p_.clear(*this);
    p_.fill();
  }
  void run() { p_.run(*this); }

  template <class F>
  void over(const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    arenas_.in_each([&](std::size_t a) {
      const programs::interval own = p_.share_of_rows(arenas_.count(), a);
      tbb::parallel_for(range(own.first, own.last), [&f](const range& r) { f(r.begin(), r.end()); });
    });
  }

 private:
  programs::node_arenas arenas_;
};

}  // namespace
}  // namespace fluid

programs::variant_list programs::tbb_arenas_variants() {
  return {{"tbb-arenas", "one task_arena for each NUMA node", measure<fluid::solver, tbb_limit>}};
}
