// A task_arena for each NUMA node, with a block of the elements: oneTBB's advice.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "../common/node_arenas.hpp"
#include "loops.hpp"

namespace stream {
namespace {

class dealt : public solver_in_pages {
 public:
  explicit dealt(const request& r) : solver_in_pages(r), arenas_(r.threads) {}

 protected:
  template <class F>
  void over(const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    arenas_.deal(p_.size(), [&f](std::size_t first, std::size_t last) {
      tbb::parallel_for(
          range(first, last), [&f](const range& r) { f(r.begin(), r.end()); }, tbb::static_partitioner{});
    });
  }

 private:
  programs::node_arenas arenas_;
};

}  // namespace
}  // namespace stream

programs::variant_list programs::tbb_arenas_variants() {
  return {
      {"tbb-arenas", "one task_arena for each NUMA node", measure<stream::solver_by_loops<stream::dealt>, tbb_limit>}};
}
