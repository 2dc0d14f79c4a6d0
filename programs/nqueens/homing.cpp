// The first row's places are dealt over the domains; below, the children of a board are one entry of their thread's.
#include <homing/fork_join.hpp>
#include <homing/tasks.hpp>

#include <numeric>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace nqueens {
namespace {

class solver : public problem {
 public:
  using problem::problem;
  void run() { result_ = count(empty()); }

 private:
  std::uint64_t count(const board& b) const {
    if (b.rows <= rows_alone) return alone(b);
    const boards children = next(b);
    std::array<std::uint64_t, 32> ways{};
    const auto child = [&](std::size_t i) { ways[i] = count(children.at[i]); };
    if (b.rows == empty().rows) {
      homing::task_group group;
      for (std::size_t i = 0; i < children.count; ++i) {
        const auto home = static_cast<std::uint32_t>(i * homing::domain_count() / children.count);
        group.run(homing::on(home), [&child, i] { child(i); });
      }
      group.wait();
    } else {
      homing::for_children(std::size_t{0}, children.count, child);
    }
    return std::accumulate(ways.begin(), ways.end(), std::uint64_t{0});
  }
};

}  // namespace
}  // namespace nqueens

programs::variant_list programs::homing_variants() {
  return {{"homing", "for_children; the first ones sent", measure<nqueens::solver, tbb_threads>}};
}
