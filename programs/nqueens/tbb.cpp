// A task_group for each board, and a task for each next one.
#include <oneapi/tbb/task_group.h>

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
    tbb::task_group group;
    for (std::size_t i = 1; i < children.count; ++i) group.run([&, i] { ways[i] = count(children.at[i]); });
    group.run_and_wait([&] {
      if (children.count > 0) ways[0] = count(children.at[0]);
    });
    return std::accumulate(ways.begin(), ways.end(), std::uint64_t{0});
  }
};

}  // namespace
}  // namespace nqueens

programs::variant_list programs::tbb_variants() {
  return {{"tbb", "task_group", measure<nqueens::solver, tbb_threads>}};
}
