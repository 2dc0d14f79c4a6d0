// A task_group for each node that has children.
#include <oneapi/tbb/task_group.h>

#include <atomic>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace uts {
namespace {

class solver : public problem {
 public:
  using problem::problem;
  void run() { nodes_ = count(root()); }

 private:
  std::uint64_t count(const node& n) const {
    const std::size_t children = children_of(n);
    if (children == 0) return 1;
    std::atomic<std::uint64_t> below{1};
    // relaxed: the join of the children orders it before the load.
    const auto child = [&](std::size_t i) { below.fetch_add(count(child_of(n, i)), std::memory_order_relaxed); };
    tbb::task_group group;
    for (std::size_t i = 1; i < children; ++i) group.run([&child, i] { child(i); });
    group.run_and_wait([&child] { child(0); });
    return below.load(std::memory_order_relaxed);
  }
};

}  // namespace
}  // namespace uts

programs::variant_list programs::tbb_variants() { return {{"tbb", "task_group", measure<uts::solver, tbb_threads>}}; }
