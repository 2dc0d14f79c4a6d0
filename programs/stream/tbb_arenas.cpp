// A task_arena for each NUMA node, with a block of the elements: oneTBB's advice.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "../common/node_arenas.hpp"
#include "problem.hpp"

namespace stream {
namespace {

class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r), arenas_(r.threads) {
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
    arenas_.deal(p_.size(), [&f](std::size_t first, std::size_t last) {
      tbb::parallel_for(
          range(first, last), [&f](const range& r) { f(r.begin(), r.end()); }, tbb::static_partitioner{});
    });
  }

  programs::node_arenas arenas_;
};

}  // namespace
}  // namespace stream

programs::variant_list programs::tbb_arenas_variants() {
  return {{"tbb-arenas", "one task_arena for each NUMA node", measure<stream::solver, tbb_limit>}};
}
