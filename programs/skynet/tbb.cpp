// A task_group for each node.
#include <oneapi/tbb/task_group.h>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace skynet {
namespace {

class solver : public problem {
 public:
  using problem::problem;
  void run() { result_ = sum(0, leaves_); }

 private:
  static std::uint64_t sum(std::uint64_t first, std::uint64_t count) {
    if (count == 1) return first;
    sums_of_children sums{};
    const std::uint64_t each = count / fan_out;
    tbb::task_group children;
    for (std::uint64_t i = 1; i < fan_out; ++i) children.run([&, i] { sums[i] = sum(first + i * each, each); });
    children.run_and_wait([&] { sums[0] = sum(first, each); });
    return total(sums);
  }
};

}  // namespace
}  // namespace skynet

programs::variant_list programs::tbb_variants() {
  return {{"tbb", "task_group", measure<skynet::solver, tbb_threads>}};
}
