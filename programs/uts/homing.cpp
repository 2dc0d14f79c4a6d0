// The root's children are dealt over the domains; below, the children of a node are one entry of their thread's.
#include <homing/fork_join.hpp>
#include <homing/tasks.hpp>

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
    if (n.depth == 0) {
      homing::task_group group;
      for (std::size_t i = 0; i < children; ++i) {
        const auto home = static_cast<std::uint32_t>(i * homing::domain_count() / children);
        group.run(homing::on(home), [&child, i] { child(i); });
      }
      group.wait();
    } else {
      homing::for_children(std::size_t{0}, children, child);
    }
    return below.load(std::memory_order_relaxed);
  }
};

}  // namespace
}  // namespace uts

programs::variant_list programs::homing_variants() {
  return {{"homing", "for_children; the first ones sent", measure<uts::solver, tbb_threads>}};
}
