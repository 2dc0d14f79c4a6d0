// Leases by their public face, the same program on ours and on stock oneTBB: what they promise where threads are
// managed, and where nobody manages them; loops and enqueued tasks go on meanwhile.
#include <homing/lease.hpp>
#include <homing/tasks.hpp>

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"

namespace {

using homing::lease;
using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::on_machine;

const homing::testing::environment four_by_two = on_machine("node:4 core:2 pu:1");
tbb::global_control threads(std::size_t count) { return {tbb::global_control::max_allowed_parallelism, count}; }

std::uint32_t sum_over_domains(const lease& l) {
  std::uint32_t sum = 0;
  for (std::uint32_t d = 0; d < l.domain_count(); ++d) sum += l.threads_in(homing::domain_index{d});
  return sum;
}

TEST(lease, says_whether_somebody_manages_threads) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(8);
    const lease three(3);
    EXPECT_EQ(three.is_managed(), homing::runtime().is_homing);
    EXPECT_EQ(three.threads(), 3U);
    EXPECT_EQ(sum_over_domains(three), 3U);
    const lease many(100);
    EXPECT_EQ(many.threads(), many.is_managed() ? 6U : 100U) << "7 workers, 2 are leased; or all that is asked for";
  });
}

TEST(lease, of_all_has_two_threads_in_each_of_four_domains) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(8);
    const lease all;
    ASSERT_EQ(all.domain_count(), 4U);
    for (std::uint32_t d = 0; d < 4; ++d) EXPECT_EQ(all.threads_in(homing::domain_index{d}), 2U);
    std::vector<std::uint32_t> seen(4, 0);
    for (std::uint32_t i = 0; i < all.threads(); ++i) ++seen[to_index(all.domain_of(i))];
    EXPECT_EQ(seen, (std::vector<std::uint32_t>{2, 2, 2, 2}));
  });
}

TEST(lease, of_named_domains_comes_from_them_but_for_the_asking_thread) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(8);
    const lease some(5, homing::domain_set{homing::domain_index{1}, homing::domain_index{3}});
    EXPECT_EQ(some.threads(), 5U);
    std::uint32_t named = some.threads_in(homing::domain_index{1}) + some.threads_in(homing::domain_index{3});
    EXPECT_GE(named, 4U);
    EXPECT_EQ(sum_over_domains(some), 5U);
  });
}

TEST(lease, one_thread_is_always_granted) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(1);
    EXPECT_EQ(lease(1).threads(), 1U);
    lease all;
    EXPECT_GE(all.threads(), 1U);
    all.renew();
    EXPECT_GE(all.threads(), 1U);
    all.end();
    all.renew();
    EXPECT_EQ(all.threads(), 1U) << "an ended lease stays ended";
    EXPECT_FALSE(all.is_managed());
  });
}

/// The code of docs/guide/compose.md.
TEST(guide, threads_of_your_own) {
  in_own_process(four_by_two, [] {
    const auto limit = ::threads(8);
    std::atomic<unsigned> worked{0};
    const auto work = [&] { worked.fetch_add(1); };
    const homing::topology::snapshot machine = homing::topology::current();
    {
      const homing::lease threads(4);  // up to 4, this one included
      std::vector<std::jthread> pool;
      for (std::uint32_t i = 1; i < threads.threads(); ++i) {
        pool.emplace_back([&, i] {
          const homing::topology::bound_thread stay(machine, threads.domain_of(i));
          work();
        });
      }
      work();
    }
    EXPECT_EQ(worked.load(), 4U);
  });
}

/// A pool of raw threads, as a library would have it, between a loop's tasks and others that are enqueued.
TEST(lease, loops_and_enqueued_tasks_go_on_meanwhile) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(8);
    std::atomic<int> enqueued{0};
    std::atomic<int> pooled{0};
    int expected = 0;
    for (int round = 0; round < 100; ++round) {
      tbb::task_arena arena(8, round % 2 == 0 ? 0U : 1U);
      const lease mine(1 + static_cast<std::uint32_t>(round) % 9);
      arena.enqueue([&] { enqueued.fetch_add(1); });
      {
        std::vector<std::jthread> pool;
        for (std::uint32_t i = 1; i < mine.threads(); ++i) pool.emplace_back([&] { pooled.fetch_add(1); });
        std::atomic<int> iterations{0};
        tbb::parallel_for(0, 200, [&](int) { iterations.fetch_add(1); });
        EXPECT_EQ(iterations.load(), 200);
      }
      expected += static_cast<int>(mine.threads()) - 1;
      EXPECT_EQ(pooled.load(), expected);
      await("an enqueued task", [&] { return enqueued.load() == round + 1; });
    }
  });
}

}  // namespace
