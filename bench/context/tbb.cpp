// The life of a task_group_context: made and unmade alone, and bound to its parent three loops deep.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>

#include "../common/harness.hpp"

namespace {

/// A loop of four indices a level, each with a context of its own that is bound to the one above.
void nest(int levels, std::atomic<std::uint64_t>& leaves) {
  if (levels == 0) {
    leaves.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  tbb::task_group_context context;
  tbb::parallel_for(
      0, 4, [levels, &leaves](int) { nest(levels - 1, leaves); }, tbb::simple_partitioner{}, context);
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "context");
  session.measure("create", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      tbb::task_group_context context;
      bench::keep(&context);
    }
  });
  session.measure("nested", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      std::atomic<std::uint64_t> leaves{0};
      nest(3, leaves);
      session.expect(leaves.load() == 64, "4 * 4 * 4 leaves");
    }
  });
  return session.end();
}
