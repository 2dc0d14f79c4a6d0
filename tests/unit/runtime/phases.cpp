// Parallel phases over a fork: one that began before it ends in the child, where the arena is another one.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include "tbb/live_arena.hpp"
#include "unit/common/forked_child.hpp"

namespace {

TEST(phases, one_that_began_before_a_fork_ends_in_the_child_where_the_next_counts) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  tbb::task_arena arena(2);
  arena.start_parallel_phase();
  EXPECT_TRUE(homing::testing::child_can([&] {
    arena.end_parallel_phase();
    const homing::scheduler::arena& successor = *homing::scheduler::live_arena_of(arena);
    const bool ended = !successor.in_phase();
    arena.start_parallel_phase();
    const bool began = successor.in_phase();
    arena.end_parallel_phase();
    return ended && began && !successor.in_phase();
  }));
  arena.end_parallel_phase();
}

}  // namespace
