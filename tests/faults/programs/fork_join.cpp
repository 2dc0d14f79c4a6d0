// Forks and joins: values, references, children and addresses, and branches that suspend, so that their stacks go on on
// other threads while what they have forked was refused a task for want of memory.
#include <homing/fork_join.hpp>

#include <tbb/parallel_for.h>
#include <tbb/task.h>
#include <tbb/task_group.h>

#include <functional>

#include "faults.hpp"

namespace {

void nap() {
  tbb::task::suspend([](tbb::task::suspend_point p) { tbb::task::resume(p); });
}

/// At each fourth node the stack is left and gone on with.
long leaves(int depth) {
  if (depth % 4 == 3) nap();
  if (depth == 0) return 1;
  const auto [left, right] =
      homing::fork_join([depth] { return leaves(depth - 1); }, [depth] { return leaves(depth - 1); });
  return left + right;
}

void by_reference(int depth, long& count) {
  if (depth == 0) {
    count = 1;
    return;
  }
  long left = 0;
  long right = 0;
  homing::fork_join(
      homing::on(0U), [&] { by_reference(depth - 1, left); }, [&] { by_reference(depth - 1, right); });
  count = left + right;
}

/// Each child suspends, forks children of its own, and suspends again.
void children(int depth, std::atomic<int>& count) {
  homing::for_children(0, 4, [&](int) {
    nap();
    if (depth > 1) {
      children(depth - 1, count);
    } else {
      ++count;
    }
    nap();
  });
}

}  // namespace

int main() {
  return faults::check([] {
    faults::require(leaves(9) == 1 << 9, "values: not each branch ran once");
    long count = 0;
    by_reference(7, count);
    faults::require(count == 1 << 7, "references: not each branch ran once");
    static std::atomic<int> reached;
    reached = 0;
    children(3, reached);
    faults::require(reached == 4 * 4 * 4, "children: not each ran once");
    reached = 0;
    tbb::parallel_for(0, 8, [](int) { children(2, reached); });
    faults::require(reached == 8 * 4 * 4, "children of tasks: not each ran once");
  });
}
