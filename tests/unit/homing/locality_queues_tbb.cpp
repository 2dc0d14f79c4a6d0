// Locality queues under oneTBB's parallel_for: each block of a three-dimensional range once, with every partitioner,
// and nothing left behind when a body throws.
#include <homing/locality_queues.hpp>

#include <oneapi/tbb/blocked_range3d.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <stdexcept>

#include "unit/common/locality_fixture.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

using blocks = tbb::blocked_range3d<std::size_t>;

struct by_slot {
  domain_index operator()() const noexcept {
    return domain(static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()) % 4);
  }
};
using slot_queues = locality_queues<std::size_t, by_slot>;

class tbb_queues : public ::testing::Test {
 protected:
  static constexpr std::size_t extent = 12;
  // 16 threads on any machine.
  tbb::global_control limit_{tbb::global_control::max_allowed_parallelism, 16};
  tbb::task_arena arena_{16};
  slot_queues queues_{machine_of("node:4 core:2 pu:1")};
  blocks all_{0, extent, 1, 0, extent, 1, 0, extent, 1};

  static constexpr auto items = [](const blocks& part, auto put) {
    for (std::size_t k = part.pages().begin(); k != part.pages().end(); ++k) {
      for (std::size_t j = part.rows().begin(); j != part.rows().end(); ++j) {
        for (std::size_t i = part.cols().begin(); i != part.cols().end(); ++i) {
          put(domain(k * 4 / extent), (k * extent + j) * extent + i);
        }
      }
    }
  };
};

TEST_F(tbb_queues, every_block_once_with_every_partitioner) {
  tbb::affinity_partitioner affinity;
  for (int sweep = 0; sweep < 3; ++sweep) {
    ledger seen(4 * extent * extent * extent);
    std::size_t pass = 0;
    const auto body = [&] {
      const std::size_t first = pass++ * extent * extent * extent;
      return through_queues(queues_, items,
                            [&seen, first](const slot_queues::entry& taken) { seen.note(first + taken.item); });
    };
    arena_.execute([&] {
      tbb::parallel_for(all_, body());
      tbb::parallel_for(all_, body(), tbb::simple_partitioner());
      tbb::parallel_for(all_, body(), tbb::static_partitioner());
      tbb::parallel_for(all_, body(), affinity);
    });
    EXPECT_TRUE(seen.all_seen_once());
    EXPECT_EQ(queues_.size(), 0U);
  }
}

TEST_F(tbb_queues, an_exception_ends_the_loop_and_leaves_nothing) {
  std::atomic<int> calls{0};
  const auto body = through_queues(queues_, items, [&](const slot_queues::entry&) {
    if (calls.fetch_add(1) == 100) throw std::runtime_error("enough");
  });
  EXPECT_THROW(arena_.execute([&] { tbb::parallel_for(all_, body); }), std::runtime_error);
  EXPECT_EQ(queues_.size(), 0U);
}

}  // namespace
