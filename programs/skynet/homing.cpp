// The root's children are dealt over the domains; below, the children of a node are one entry of their thread's.
#include <homing/fork_join.hpp>
#include <homing/tasks.hpp>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace skynet {
namespace {

class solver : public problem {
 public:
  using problem::problem;
  void run() {
    sums_of_children sums{};
    const std::uint64_t each = leaves_ / fan_out;
    homing::task_group children;
    for (std::uint64_t i = 0; i < fan_out; ++i) {
      const auto home = static_cast<std::uint32_t>(i * homing::domain_count() / fan_out);
      children.run(homing::on(home), [&sums, i, each] { sums[i] = sum(i * each, each); });
    }
    children.wait();
    result_ = total(sums);
  }

 private:
  static std::uint64_t sum(std::uint64_t first, std::uint64_t count) {
    if (count == 1) return first;
    sums_of_children sums{};
    const std::uint64_t each = count / fan_out;
    homing::for_children(std::uint64_t{0}, fan_out, [&](std::uint64_t i) { sums[i] = sum(first + i * each, each); });
    return total(sums);
  }
};

}  // namespace
}  // namespace skynet

programs::variant_list programs::homing_variants() {
  return {{"homing", "for_children; the first ones sent", measure<skynet::solver, tbb_threads>}};
}
