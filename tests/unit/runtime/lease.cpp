// Leases: what is granted of which domains, what the arenas keep, and that every end of a lease, also by fork and
// finalize, gives the workers back. Method: arenas that always have work, looked into, on made-up machines in processes
// of their own.
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <sys/wait.h>
#include <unistd.h>
#include <homing/lease.hpp>

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/workers/resource_manager.hpp"
#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/topology_fixture.hpp"

namespace {

namespace sync = homing::sync;
using homing::lease;
using homing::lease_source;
using homing::scheduler::domain_counts;
using homing::scheduler::lease_book;
using homing::scheduler::lease_wish;
using homing::scheduler::lessee;
using homing::scheduler::worker_supply;
using homing::testing::await;
using homing::testing::busy_arena;
using homing::testing::comes_true;
using homing::testing::counts;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::threads;

constexpr homing::domain_index first{0};
constexpr homing::domain_index second{1};

counts by_domain(const lease& l) {
  counts result;
  for (std::uint32_t d = 0; d < l.domain_count(); ++d) {
    result.push_back(static_cast<int>(l.threads_in(homing::domain_index{d})));
  }
  return result;
}

// ---- the book: who gets how many

class book : public ::testing::Test {
 protected:
  static lease_wish wish(std::uint32_t workers) { return {workers, lease_wish::source::any, {true, true}}; }
  domain_counts workers(std::uint64_t number) const { return *leases_.find(number); }

  const worker_supply two_by_four_{{4, 4}, {4, 4}, {0, 0}};
  const lessee nobody_{0, false};  ///< an application's thread, in domain 0
  lease_book leases_{2};
};

TEST_F(book, who_is_alone_may_have_all) {
  EXPECT_EQ(workers(leases_.take(wish(100), nobody_, two_by_four_)), (domain_counts{4, 4}));
}

TEST_F(book, the_asking_thread_counts_in_its_domain) {
  EXPECT_EQ(workers(leases_.take(wish(1), nobody_, two_by_four_)), (domain_counts{0, 1}));
  EXPECT_EQ(workers(leases_.take(wish(1), lessee{1, false}, two_by_four_)), (domain_counts{1, 0}));
}

TEST_F(book, two_share_equally_once_both_have_asked_again) {
  const std::uint64_t early = leases_.take(wish(100), nobody_, two_by_four_);
  const std::uint64_t late = leases_.take(wish(100), nobody_, two_by_four_);
  EXPECT_EQ(workers(late), (domain_counts{0, 0})) << "nothing is taken from a lease that lives";
  EXPECT_TRUE(leases_.renew(early, nobody_, two_by_four_));
  EXPECT_EQ(workers(early), (domain_counts{2, 2}));
  EXPECT_TRUE(leases_.renew(late, nobody_, two_by_four_));
  EXPECT_EQ(workers(late), (domain_counts{2, 2}));
  EXPECT_TRUE(leases_.end(early));
  EXPECT_TRUE(leases_.renew(late, nobody_, two_by_four_));
  EXPECT_EQ(workers(late), (domain_counts{4, 4}));
}

TEST_F(book, what_one_does_not_want_is_for_the_others) {
  static_cast<void>(leases_.take(wish(2), nobody_, two_by_four_));
  EXPECT_EQ(leases_.leased_total(), 2U);
  static_cast<void>(leases_.take(wish(100), nobody_, two_by_four_));
  EXPECT_EQ(leases_.leased(), (domain_counts{4, 4}));
}

TEST_F(book, a_named_domain_gives_no_more_than_it_has) {
  lease_wish named = wish(100);
  named.domains = {false, true};
  const std::uint64_t number = leases_.take(named, nobody_, two_by_four_);
  EXPECT_EQ(workers(number), (domain_counts{0, 4}));
}

TEST_F(book, a_worker_that_asks_stays_with_its_arena) {
  EXPECT_EQ(workers(leases_.take(wish(100), lessee{1, true}, two_by_four_)), (domain_counts{4, 3}));
}

TEST_F(book, idle_workers_only) {
  lease_wish idle = wish(100);
  idle.from = lease_wish::source::idle;
  EXPECT_EQ(workers(leases_.take(idle, nobody_, worker_supply{{4, 4}, {4, 4}, {3, 1}})), (domain_counts{1, 3}));
  EXPECT_EQ(workers(leases_.take(idle, nobody_, worker_supply{{4, 4}, {4, 4}, {3, 1}})), (domain_counts{0, 0}));
}

TEST_F(book, a_limit_that_falls_applies_to_who_asks_again) {
  const std::uint64_t number = leases_.take(wish(100), nobody_, two_by_four_);
  EXPECT_TRUE(leases_.renew(number, nobody_, worker_supply{{4, 4}, {1, 1}, {0, 0}}));
  EXPECT_EQ(workers(number), (domain_counts{1, 1}));
}

TEST_F(book, in_proportion_to_unequal_domains) {
  lease_book three(3);
  const worker_supply unequal{{4, 2, 1}, {4, 2, 1}, {0, 0, 0}};
  const lease_wish half{3, lease_wish::source::any, {true, true, true}};
  EXPECT_EQ(*three.find(three.take(half, lessee{2, false}, unequal)), (domain_counts{2, 1, 0}));
}

TEST_F(book, numbers_that_are_not_there_mean_nothing) {
  EXPECT_FALSE(leases_.end(1U << 30U));
  EXPECT_FALSE(leases_.renew(0, nobody_, two_by_four_));
  EXPECT_EQ(leases_.find(0), nullptr);
}

// ---- leases and arenas

const homing::testing::environment two_by_four = on_machine("node:2 core:4 pu:1");

TEST(lease, takes_workers_of_each_domain_and_gives_them_back) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);  // the main thread is dealt domain 0
    const busy_arena arena(8, 0U);
    arena.expect({4, 4});
    {
      const lease five(5);
      EXPECT_TRUE(five.is_managed());
      EXPECT_EQ(five.threads(), 5U);
      EXPECT_EQ(by_domain(five), (counts{3, 2}));
      arena.expect({2, 2});
      await("the workers that had to leave", [&] { return five.is_clear(); });
    }
    arena.expect({4, 4});
  });
}

TEST(lease, of_all_leaves_enqueued_tasks_one_worker) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena arena(8, 0U);
    arena.expect({4, 4});
    lease everything;
    EXPECT_EQ(by_domain(everything), (counts{5, 4}));
    arena.expect_total(1);
    everything.end();
    EXPECT_EQ(everything.threads(), 1U);
    arena.expect({4, 4});
  });
}

/// In a new arena, in one of each domain, and in one that had its tasks before the lease.
TEST(lease, of_all_does_not_stop_enqueued_tasks) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    for (int round = 0; round < 200; ++round) {
      sync::atomic<int> ran{0};
      const auto count = [&] { ran.fetch_add(1, sync::release); };
      tbb::task_arena early(4, 0U);
      early.enqueue(count);
      const lease everything;
      tbb::task_arena late(2, 1U);
      late.enqueue(count);
      tbb::task_arena at_first(homing::testing::on_node(0), 0U);
      at_first.enqueue(count);
      tbb::task_arena at_second(homing::testing::on_node(1), 0U);
      at_second.enqueue(count);
      await("tasks that were enqueued while all is leased", [&] { return ran.load(sync::acquire) == 4; });
    }
  });
}

/// An arena that is restricted to a domain whose workers are all leased gets workers of others: constraints are about
/// speed.
TEST(lease, of_all_of_a_domain_does_not_stop_an_arena_that_is_restricted_to_it) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const lease there(lease::all, homing::domain_set{second});
    tbb::task_arena arena(homing::testing::on_node(1), 0U);
    sync::atomic<bool> ran{false};
    arena.enqueue([&] { ran.store(true, sync::release); });
    await("a task enqueued for the leased domain", [&] { return ran.load(sync::acquire); });
  });
}

TEST(lease, of_named_domains) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena arena(8, 0U);
    const lease there(lease::all, homing::domain_set{second});
    EXPECT_EQ(by_domain(there), (counts{1, 4})) << "the asking thread, and all of domain 1";
    arena.expect({4, 0});
    EXPECT_EQ(there.domain_of(0), first);
    for (std::uint32_t i = 1; i < 5; ++i) {
      EXPECT_EQ(there.domain_of(i), second);
    }
  });
}

TEST(lease, of_idle_threads_leaves_workers_at_work) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena other(4, 0U);
    other.expect({2, 2});
    const lease idle(lease::all, lease_source::idle);
    EXPECT_EQ(by_domain(idle), (counts{3, 2}));
    other.expect({2, 2});
  });
}

TEST(lease, waits_for_nobody_and_interrupts_nobody) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    tbb::task_arena arena(8, 0U);
    sync::atomic<int> here{0};
    sync::atomic<bool> may_end{false};
    for (int i = 0; i < 8; ++i) {
      arena.enqueue([&] {
        here.fetch_add(1, sync::relaxed);
        await("the tasks' release", [&] { return may_end.load(sync::acquire); });
        here.fetch_sub(1, sync::release);
      });
    }
    await("all workers at work", [&] { return here.load(sync::relaxed) == 8; });
    const lease everything;
    EXPECT_EQ(everything.threads(), 9U);
    EXPECT_FALSE(everything.is_clear());
    EXPECT_EQ(here.load(sync::relaxed), 8);
    may_end.store(true, sync::release);
    await("the workers' leave", [&] { return here.load(sync::acquire) == 0 && everything.is_clear(); });
  });
}

TEST(lease, taken_by_a_worker_leaves_it_its_place) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    tbb::task_arena arena(8, 0U);
    sync::atomic<unsigned> granted{0};
    arena.enqueue([&] {
      const lease rest;
      granted.store(rest.threads(), sync::release);
    });
    await("a lease taken in a task", [&] { return granted.load(sync::acquire) != 0; });
    EXPECT_EQ(granted.load(sync::relaxed), 8U);
  });
}

TEST(lease, keeps_to_a_limit_that_falls_when_it_asks_again) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena arena(8, 0U);
    lease six(6);
    arena.expect_total(3);
    {
      const auto lower = threads(5);
      arena.expect_total(1);
      EXPECT_EQ(six.threads(), 6U);
      six.renew();
      EXPECT_EQ(six.threads(), 5U);
      arena.expect_total(1);
    }
    six.renew();
    EXPECT_EQ(six.threads(), 6U);
    arena.expect_total(3);
  });
}

TEST(lease, an_arena_that_shrinks_to_any_number_of_workers_stays_spread) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena arena(8, 0U);
    for (const int left : {7, 3, 6, 2, 5, 1, 4, 8}) {
      const lease rest(static_cast<std::uint32_t>(9 - left));
      arena.expect_spread(left);
    }
  });
}

TEST(lease, those_of_several_threads_never_have_more_than_there_is) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    const auto limit = threads(9);
    const busy_arena arena(8, 0U);
    sync::atomic<int> out{0};
    const auto add = [&](const lease& l) {
      const int workers = static_cast<int>(l.threads()) - 1;
      const int all = out.fetch_add(workers, sync::seq_cst) + workers;
      EXPECT_LE(all, 8);
    };
    const auto remove = [&](const lease& l) { out.fetch_sub(static_cast<int>(l.threads()) - 1, sync::seq_cst); };
    {
      std::vector<std::jthread> takers;
      for (std::uint32_t t = 0; t < 6; ++t) {
        takers.emplace_back([&, t] {
          for (std::uint32_t round = 0; round < 500; ++round) {
            lease mine((round + t) % 9 == 0 ? lease::all : 1 + (round + t) % 9,
                       round % 5 == 0 ? lease_source::idle : lease_source::any);
            add(mine);
            if (round % 3 == 0) {
              remove(mine);
              mine.renew();
              add(mine);
            }
            remove(mine);
          }
        });
      }
    }
    arena.expect({2, 2, 2, 2});
  });
}

TEST(lease, moves) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    const busy_arena arena(8, 0U);
    lease from(5);
    lease to(std::move(from));
    EXPECT_EQ(to.threads(), 5U);
    arena.expect_total(4);
    lease other(3);
    other = std::move(to);  // its own two workers go back
    EXPECT_EQ(by_domain(other), (counts{3, 2}));
    arena.expect({2, 2});
    std::optional<lease> last(std::move(other));
    std::jthread([&] { last.reset(); }).join();
    arena.expect({4, 4});
  });
}

TEST(lease, neighbours_share_a_domain) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    const auto limit = threads(8);
    const lease all;
    ASSERT_EQ(by_domain(all), (counts{2, 2, 2, 2}));
    for (std::uint32_t i = 0; i < 8; ++i) {
      EXPECT_EQ(to_index(all.domain_of(i)), i / 2);
    }
    EXPECT_EQ(all.domain_of(8), first) << "round and round";
  });
}

// ---- the process

TEST(lease, of_before_a_fork_is_nothing_in_the_child) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    lease before;
    ASSERT_EQ(before.threads(), 9U);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = before.threads() == 1 && before.is_clear();
      const lease own(5);
      good = good && own.threads() == 5;
      before.renew();
      before.end();  // ends nothing of the child's
      good = good && own.threads() == 5;
      sync::atomic<int> ran{0};
      tbb::parallel_for(0, 100, [&](int) { ran.fetch_add(1, sync::relaxed); });
      _exit(good && ran.load(sync::relaxed) == 100 ? 17 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 17);
    EXPECT_EQ(before.threads(), 9U) << "the parent's lease is as it was";
  });
}

TEST(lease, survives_finalize_and_does_not_hold_it_up) {
  in_own_process(two_by_four, [] {
    const auto limit = threads(9);
    lease five(5);
    {
      tbb::task_scheduler_handle handle{tbb::attach{}};
      tbb::parallel_for(0, 1000, [](int) {});
      EXPECT_TRUE(tbb::finalize(handle, std::nothrow));
    }
    EXPECT_EQ(five.threads(), 5U);
    const busy_arena arena(8, 0U);
    arena.expect({2, 2});
    five.end();
    arena.expect({4, 4});
  });
}

using lease_death = ::testing::Test;

TEST(lease_death, wrong_requests_say_so) {
  EXPECT_DEATH(static_cast<void>(lease(0)), "no thread asked for");
  EXPECT_DEATH(static_cast<void>(lease(1, homing::domain_set::first(4096))), "there is no such domain");
}

}  // namespace
