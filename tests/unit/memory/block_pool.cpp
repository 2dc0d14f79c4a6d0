// Pools on a computer of four nodes that the test stands in for: blocks of all sizes and alignments that never overlap,
// policies on their pages before use, bounds, memory given back, and every refusal as the caller chose.
#include "memory/block_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "memory/pool_set.hpp"
#include "unit/common/fake_memory.hpp"

namespace {

using namespace homing;
using namespace homing::memory;
using homing::testing::fake_memory;
using homing::testing::four_real_nodes;
using ints = std::vector<int>;

domain_index domain(unsigned i) { return static_cast<domain_index>(i); }

struct set_of : pool_set {
  set_of(fake_memory& fake, std::vector<page_home> homes, const memory_options& options = {})
      : pool_set("test", fake, fake, four_real_nodes(), std::move(homes), options) {}
};
std::vector<page_home> on_node_1() { return {{node_id{1}, domain(1)}}; }
std::vector<page_home> on_all() {
  return {{node_id{0}, domain(0)}, {node_id{1}, domain(1)}, {node_id{2}, domain(2)}, {node_id{3}, domain(3)}};
}

TEST(size_classes, waste_less_than_a_fifth_and_keep_alignment) {
  for (std::size_t bytes = 1; bytes <= small_bytes_max; ++bytes) {
    const std::size_t c = class_of_bytes(bytes);
    ASSERT_GE(bytes_of_class(c), bytes);
    ASSERT_TRUE(c == 0 || bytes_of_class(c - 1) < bytes) << "the smallest that fits";
    ASSERT_TRUE(bytes <= fine_bytes_max || bytes_of_class(c) - bytes < bytes_of_class(c) / 5);
    for (const std::size_t alignment : {8, 64, 4096}) {
      const std::size_t aligned = class_of(bytes, alignment);
      ASSERT_TRUE(aligned == size_class_count || bytes_of_class(aligned) % alignment == 0);
    }
  }
  EXPECT_EQ(class_of(small_bytes_max + 1, 8), size_class_count);
  EXPECT_EQ(class_of(1, 2 * small_bytes_max), size_class_count);
  EXPECT_EQ(bytes_of_class(class_of(100, 4096)), 4096U);
}

struct block {
  std::byte* data;
  std::size_t bytes;
  std::size_t alignment;
  unsigned char mark;
};

block take(pool_set& pools, std::size_t bytes, std::size_t alignment, unsigned char mark) {
  auto* const data = static_cast<std::byte*>(pools.allocate(bytes, alignment));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0U);
  std::fill_n(data, bytes, std::byte{mark});
  return {data, bytes, alignment, mark};
}
bool is_whole(const block& b) {
  return std::all_of(b.data, b.data + b.bytes, [&](std::byte x) { return x == std::byte{b.mark}; });
}
void give_back(pool_set& pools, const block& b) { pools.deallocate(b.data, b.bytes, b.alignment); }

// Small, medium and large blocks come and go in a random order (the seed is printed); each keeps what was written to
// it.
TEST(block_pool, blocks_of_all_sizes_keep_their_contents) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    fake_memory fake(64);
    set_of pools(fake, on_node_1());
    std::mt19937 random(seed);
    std::vector<block> live;
    std::size_t live_bytes = 0;
    for (int step = 0; step < 4000; ++step) {
      const bool takes = live.empty() || (live.size() < 300 && random() % 5 < 3);
      if (takes) {
        const std::size_t magnitude = std::size_t{1} << (random() % (random() % 20 == 0 ? 22 : 15));
        const std::size_t bytes = magnitude + random() % magnitude;
        const std::size_t alignment = std::size_t{1} << (random() % (random() % 20 == 0 ? 21 : 8));
        if (live_bytes + bytes + alignment > (std::size_t{16} << 20)) continue;
        live.push_back(take(pools, bytes, alignment, static_cast<unsigned char>(random())));
        live_bytes += bytes;
      } else {
        std::swap(live[random() % live.size()], live.back());
        ASSERT_TRUE(is_whole(live.back()));
        live_bytes -= live.back().bytes;
        give_back(pools, live.back());
        live.pop_back();
      }
    }
    EXPECT_EQ(pools.usage().live_blocks, live.size());
    EXPECT_EQ(pools.usage().live_bytes, live_bytes);
    for (const block& b : live) {
      ASSERT_TRUE(is_whole(b));
      ASSERT_EQ(fake.policy_of(b.data), ints{1}) << "the policy came before the block";
      give_back(pools, b);
    }
    EXPECT_EQ(pools.usage().live_blocks, 0U);
    EXPECT_EQ(pools.usage().mapped_bytes, extent_bytes) << "one empty extent is kept";
    EXPECT_EQ(pools.usage().mapped_bytes, fake.mapped_bytes());
  }
}

TEST(block_pool, everything_goes_back_at_the_end) {
  fake_memory fake(16);
  {
    set_of pools(fake, on_node_1());
    give_back(pools, take(pools, 100, 8, 1));
    give_back(pools, take(pools, std::size_t{3} << 20, 8, 1));
  }
  EXPECT_EQ(fake.mapped_bytes(), 0U);
}

TEST(block_pool, a_resource_that_dies_with_live_blocks_says_so) {
  fake_memory fake(16);
  ::testing::internal::CaptureStderr();
  {
    set_of pools(fake, on_node_1());
    static_cast<void>(take(pools, 100, 8, 1));
    static_cast<void>(take(pools, std::size_t{2} << 20, 8, 1));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "homing: test: ends with 2 blocks (2097252 bytes) alive; end what uses its memory first\n");
  EXPECT_EQ(fake.mapped_bytes(), 0U);
}

TEST(block_pool, a_unit_serves_one_class_and_then_another) {
  fake_memory fake(8);
  set_of pools(fake, on_node_1());
  std::vector<block> blocks;
  for (std::size_t i = 0; i < 31 * unit_bytes / 4096; ++i) blocks.push_back(take(pools, 4096, 4096, 7));
  EXPECT_EQ(pools.usage().mapped_bytes, extent_bytes);
  for (const block& b : blocks) give_back(pools, b);
  for (int i = 0; i < 2; ++i) blocks[static_cast<std::size_t>(i)] = take(pools, run_bytes_max, unit_bytes, 9);
  EXPECT_EQ(pools.usage().mapped_bytes, extent_bytes) << "two runs of 15 units, and the head's unit";
  EXPECT_EQ(pools.usage().live_blocks, 2U);
  for (int i = 0; i < 2; ++i) give_back(pools, blocks[static_cast<std::size_t>(i)]);
}

TEST(block_pool, is_bounded) {
  fake_memory fake(32);
  set_of pools(fake, on_node_1(), {.bytes_max = 2 * extent_bytes});
  std::vector<block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(take(pools, run_bytes_max, 8, 1));
  EXPECT_THROW(static_cast<void>(pools.allocate(run_bytes_max, 8)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pools.allocate(std::size_t{2} << 20, 8)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pools.allocate(SIZE_MAX, 8)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pools.allocate(SIZE_MAX - 100, std::size_t{1} << 40)), std::bad_alloc);
  EXPECT_NO_THROW(give_back(pools, take(pools, 16, 8, 1))) << "a unit is left";
  give_back(pools, blocks.back());
  blocks.back() = take(pools, run_bytes_max, 8, 1);
  EXPECT_EQ(pools.usage().mapped_bytes_most, 2 * extent_bytes);
  for (const block& b : blocks) give_back(pools, b);
}

TEST(block_pool, without_memory_it_is_bad_alloc_and_later_it_works_again) {
  fake_memory fake(8);
  set_of pools(fake, on_node_1());
  fake.map_errno = ENOMEM;
  EXPECT_THROW(static_cast<void>(pools.allocate(10, 8)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pools.allocate(std::size_t{1} << 20, 8)), std::bad_alloc);
  EXPECT_EQ(pools.usage().mapped_bytes, 0U);
  EXPECT_EQ(pools.usage().error_number, ENOMEM);
  fake.map_errno = 0;
  give_back(pools, take(pools, 10, 8, 1));
}

TEST(block_pool, no_homes_means_no_numa_calls) {
  fake_memory fake(8);
  set_of pools(fake, {});
  give_back(pools, take(pools, 10, 8, 1));
  give_back(pools, take(pools, std::size_t{1} << 20, 8, 1));
  EXPECT_EQ(fake.mbind_calls + fake.move_calls + fake.advised_huge + fake.advised_not_huge, 0U);
}

TEST(block_pool, deals_pages_over_nodes_and_keeps_huge_pages_out) {
  fake_memory fake(8);
  set_of pools(fake, on_all());
  const block b = take(pools, 10, 8, 1);
  EXPECT_EQ(fake.state_of(b.data).mode, platform::policy_mode::interleave);
  EXPECT_EQ(fake.policy_of(b.data), (ints{0, 1, 2, 3}));
  EXPECT_EQ(fake.advised_not_huge, extent_bytes);
  give_back(pools, b);
}

TEST(block_pool, asks_for_huge_pages_on_request) {
  fake_memory fake(16);
  fake.advise_errno = EINVAL;  // a kernel without them
  set_of pools(fake, on_node_1(), {.pages = page_kind::huge});
  const block small = take(pools, 10, 8, 1);
  EXPECT_EQ(fake.advised_huge, extent_bytes);
  const block large = take(pools, (std::size_t{1} << 20) + 1, 8, 1);
  EXPECT_EQ(fake.advised_huge % fake_memory::huge, fake_memory::page) << "and the page of the head";
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data) % fake_memory::huge, 0U);
  EXPECT_EQ(pools.usage().error_number, EINVAL);
  EXPECT_EQ(pools.usage().unplaced_bytes, 0U);
  give_back(pools, small);
  give_back(pools, large);
}

// --- refusals ------------------------------------------------------------------------------------------

TEST(refused_memory, a_sandbox_is_answered_by_threads_of_the_home) {
  for (const int error : {EPERM, ENOSYS}) {
    fake_memory fake(8);
    fake.mbind_errno = error;
    set_of pools(fake, on_node_1());
    const block b = take(pools, 10, 8, 1);
    EXPECT_EQ(fake.state_of(b.data).node, 1) << "touched by a thread of node 1";
    EXPECT_EQ(pools.usage().unplaced_bytes, 0U);
    EXPECT_EQ(pools.usage().error_number, 0);
    give_back(pools, b);
  }
  fake_memory fake(8);
  fake.mbind_errno = EPERM;
  set_of dealt(fake, on_all());
  const block b = take(dealt, 4 * fake_memory::page, fake_memory::page, 1);
  std::set<int> nodes;
  for (std::size_t p = 0; p < 4; ++p) nodes.insert(fake.state_of(b.data + p * fake_memory::page).node);
  EXPECT_EQ(nodes, (std::set<int>{0, 1, 2, 3})) << "by turns";
  give_back(dealt, b);
}

TEST(refused_memory, spills_and_says_so) {
  for (const auto& [mbind, bind] : {std::pair(EINVAL, 0), std::pair(ENOMEM, 0), std::pair(EPERM, EPERM)}) {
    fake_memory fake(8);
    fake.mbind_errno = mbind;
    fake.bind_errno = bind;
    set_of pools(fake, on_node_1());
    give_back(pools, take(pools, 10, 8, 1));
    EXPECT_EQ(pools.usage().unplaced_bytes, extent_bytes);
    EXPECT_EQ(pools.usage().error_number, mbind);
  }
  fake_memory fake(8);
  fake.mbind_errno = EPERM;
  set_of tier(fake, {{node_id{1}, std::nullopt}});
  give_back(tier, take(tier, 10, 8, 1));
  EXPECT_EQ(tier.usage().unplaced_bytes, extent_bytes) << "a tier has no threads that could touch";
}

TEST(refused_memory, fails_if_the_caller_chose_so) {
  const memory_options must{.when_full = on_full::fail};
  for (const auto& [mbind, bind] : {std::pair(EINVAL, 0), std::pair(EPERM, EPERM)}) {
    fake_memory fake(8);
    fake.mbind_errno = mbind;
    fake.bind_errno = bind;
    set_of pools(fake, on_node_1(), must);
    EXPECT_THROW(static_cast<void>(pools.allocate(10, 8)), std::bad_alloc);
    EXPECT_EQ(fake.mapped_bytes(), 0U);
    EXPECT_EQ(pools.usage().mapped_bytes, 0U);
    EXPECT_EQ(pools.usage().error_number, mbind);
  }
}

TEST(refused_memory, a_full_node_is_bad_alloc_or_another_node) {
  const std::size_t pages_of_extent = extent_bytes / fake_memory::page;
  fake_memory fake(16);
  fake.pages_of_node_1 = pages_of_extent + 100;
  set_of strict(fake, on_node_1(), {.when_full = on_full::fail});
  const block first = take(strict, run_bytes_max, 8, 1);
  const block second = take(strict, run_bytes_max, 8, 1);
  EXPECT_EQ(fake.state_of(second.data).node, 1) << "populated and seen";
  EXPECT_THROW(static_cast<void>(strict.allocate(run_bytes_max, 8)), std::bad_alloc);
  EXPECT_EQ(strict.usage().error_number, ENOMEM);
  EXPECT_EQ(fake.mapped_bytes(), extent_bytes);
  set_of lenient(fake, on_node_1());
  const block third = take(lenient, run_bytes_max, 8, 1);
  give_back(strict, first);
  give_back(strict, second);
  give_back(lenient, third);
}

TEST(refused_memory, old_kernels_without_populate_are_touched_by_hand) {
  fake_memory fake(8);
  fake.populate_errno = EINVAL;
  set_of strict(fake, on_node_1(), {.when_full = on_full::fail});
  const block b = take(strict, 10, 8, 1);
  EXPECT_EQ(fake.state_of(b.data).node, 1);
  give_back(strict, b);
  fake.populate_errno = ENOMEM;
  EXPECT_THROW(static_cast<void>(strict.allocate(std::size_t{2} << 20, 8)), std::bad_alloc);
}

TEST(refused_memory, where_the_kernel_does_not_tell_the_listing_does) {
  fake_memory fake(8);
  fake.move_errno = EPERM;  // move_pages refused
  set_of strict(fake, on_node_1(), {.when_full = on_full::fail});
  const block b = take(strict, 10, 8, 1);
  EXPECT_EQ(fake.policy_of(b.data), ints{1});
  give_back(strict, b);
}

TEST(refused_memory, each_region_is_asked_for_by_itself) {
  fake_memory fake(64);
  fake.mbind_errno = fake.move_errno = EPERM;  // Docker
  set_of strict(fake, on_node_1(), {.when_full = on_full::fail});
  std::vector<block> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(take(strict, std::size_t{2} << 20, 8, 1));
  EXPECT_EQ(fake.numa_maps_reads, 10U) << "one line each, whatever was there before";
  EXPECT_EQ(fake.mappings_reads, 0U) << "smaps walks all pages of the process";
  for (const auto& p : fake.pages) ASSERT_FALSE(p.marked) << "undone";
  for (const block& b : blocks) {
    EXPECT_EQ(fake.state_of(b.data + b.bytes - 1).node, 1);
    give_back(strict, b);
  }
}

TEST(refused_memory, one_page_elsewhere_shows_in_the_listing) {
  fake_memory fake(16);
  fake.mbind_errno = fake.move_errno = EPERM;
  fake.free_on_1 = extent_bytes / fake_memory::page - 1;  // the last page comes from elsewhere
  set_of strict(fake, on_node_1(), {.when_full = on_full::fail});
  EXPECT_THROW(static_cast<void>(strict.allocate(10, 8)), std::bad_alloc);
  EXPECT_EQ(fake.mapped_bytes(), 0U);
}

// --- programmer's errors -------------------------------------------------------------------------------

TEST(block_pool, a_wrong_block_is_the_programmers) {
  fake_memory fake(16);
  set_of pools(fake, on_node_1());
  set_of others(fake, on_node_1());
  const block small = take(pools, 100, 8, 1);
  const block run = take(pools, 100000, 8, 1);
  const block large = take(pools, std::size_t{2} << 20, 8, 1);
  for (const block& b : {small, run, large}) {
    EXPECT_DEATH(give_back(others, b), "homing: memory_resource::deallocate: the block is not this resource's");
  }
  EXPECT_DEATH(pools.deallocate(small.data, 1000, 8), "another size or alignment");
  EXPECT_DEATH(pools.deallocate(run.data, 200000, 8), "another size or alignment");
  EXPECT_DEATH(pools.deallocate(large.data, std::size_t{3} << 20, 8), "another size or alignment");
  for (const block& b : {small, run, large}) give_back(pools, b);
  EXPECT_DEATH(give_back(pools, small), "the block is not this resource's") << "twice";
}

// --- threads -------------------------------------------------------------------------------------------

// 16 threads allocate, and free what their neighbour allocated.
TEST(block_pool, blocks_freed_by_other_threads_come_back) {
  constexpr std::size_t threads = 16;
  constexpr std::size_t each = 200;
  fake_memory fake(64);
  set_of pools(fake, on_node_1());
  std::vector<std::vector<block>> made(threads);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> makers;
    for (std::size_t t = 0; t < threads; ++t) {
      makers.emplace_back([&, t] {
        for (std::size_t i = 0; i < each; ++i) {
          made[t].push_back(take(pools, 1 + (i * 37) % 5000, 16, static_cast<unsigned char>(t)));
        }
      });
    }
    for (std::thread& t : makers) t.join();
    EXPECT_EQ(pools.usage().live_blocks, threads * each);
    std::vector<std::thread> takers;
    for (std::size_t t = 0; t < threads; ++t) {
      takers.emplace_back([&, t] {
        for (const block& b : made[(t + 1) % threads]) {
          EXPECT_TRUE(is_whole(b));
          give_back(pools, b);
        }
        made[(t + 1) % threads].clear();
      });
    }
    for (std::thread& t : takers) t.join();
    EXPECT_EQ(pools.usage().live_blocks, 0U);
  }
  EXPECT_EQ(pools.usage().mapped_bytes, extent_bytes);
}

}  // namespace
