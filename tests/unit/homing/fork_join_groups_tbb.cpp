// Forks among tasks: cancelled, isolated, in several arenas, from any thread, by address, in pinned sections, without
// membarrier; and on stock oneTBB.
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <sys/syscall.h>
#include <homing/fork_join.hpp>
#include <homing/pinned.hpp>
#include <homing/steal_policy.hpp>

#include <atomic>
#include <cerrno>
#include <thread>
#include <tuple>
#include <vector>

#include "unit/common/forks.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/sandbox.hpp"

namespace {

using homing::fork_join;
using homing::testing::await;
using homing::testing::environment;
using homing::testing::failure;
using homing::testing::fib;
using homing::testing::fib_answer;
using homing::testing::fib_argument;
using homing::testing::in_own_process;
using homing::testing::meet;
using homing::testing::on_stock;
using homing::testing::parallelism;
using homing::testing::thrown_by;
using homing::testing::with_helpers;

const environment four_by_two{{"HOMING_TOPOLOGY", "node:4 core:2 pu:1"}};

// ---- cancellation

TEST(fork_join, a_cancelled_group_begins_no_branch_without_a_value) {
  for (const int threads : {1, 8}) {
    const parallelism limit(parallelism::max_allowed_parallelism, static_cast<std::size_t>(threads));
    tbb::task_arena arena(threads);
    arena.execute([&] {
      for (int round = 0; round < 50; ++round) {
        tbb::task_group_context context;
        std::atomic<int> after{0};
        fork_join(
            context,
            [&] {
              fork_join(
                  [&] {
                    context.cancel_group_execution();
                    fork_join([&] { ++after; }, [&] { ++after; });
                    for (const int children : {1, 10}) homing::for_children(0, children, [&](int) { ++after; });
                  },
                  [] {});
              fork_join([&] { ++after; }, [&] { ++after; });
            },
            [] {});
        if (!on_stock()) {
          ASSERT_EQ(after.load(), 0);
        }
      }
    });
  }
}

TEST(fork_join, branches_of_a_group_that_another_thread_cancels_end) {
  with_helpers([] {
    tbb::task_group_context context;
    std::atomic<bool> goes_on{false};
    std::thread canceller([&] {
      await("a branch", [&] { return goes_on.load(); });
      context.cancel_group_execution();
    });
    // A tree without end, but for the cancellation.
    struct endless {
      std::atomic<bool>& goes_on;
      void operator()() const {
        goes_on = true;
        bool forked = true;
        while (forked) {
          forked = false;
          fork_join([&] { forked = true; }, [] {});
        }
      }
    };
    if (!on_stock()) {
      fork_join(context, endless{goes_on}, endless{goes_on}, endless{goes_on});
    } else {
      goes_on = true;
    }
    canceller.join();
  });
}

TEST(fork_join, values_of_a_cancelled_group_are_its_callers_whatever_their_address) {
  in_own_process(four_by_two, [] {
    for (int round = 0; round < 50; ++round) {
      tbb::task_group group;
      std::atomic<int> elsewhere{0};
      group.run_and_wait([&] {
        group.cancel();
        const auto caller = std::this_thread::get_id();
        const auto value = [&] {
          elsewhere += std::this_thread::get_id() != caller ? 1 : 0;
          std::this_thread::yield();
          return 1;
        };
        homing::fork_join(homing::on(0U), value, homing::on(2U), value, homing::on(3U), value);
      });
      ASSERT_EQ(elsewhere, 0);
    }
  });
}

TEST(fork_join, values_are_made_in_a_cancelled_group_too) {
  with_helpers([] {
    tbb::task_group_context context;
    context.cancel_group_execution();
    const auto [left, right] = fork_join(
        context, [] { return fib(10); }, [] { return fib(11); });
    EXPECT_EQ(left, 55);
    EXPECT_EQ(right, 89);
    tbb::task_group_context later;
    const auto [cancelled, value] = fork_join(
        later, [&] { return later.cancel_group_execution(); }, [] { return fib(12); });
    EXPECT_TRUE(cancelled);
    EXPECT_EQ(value, 144);
  });
}

TEST(fork_join, a_branch_without_a_value_does_not_begin_beside_one_with_a_value_in_a_cancelled_group) {
  for (const int threads : {1, 8}) {
    const parallelism limit(parallelism::max_allowed_parallelism, static_cast<std::size_t>(threads));
    tbb::task_arena arena(threads);
    arena.execute([] {
      for (int round = 0; round < 50; ++round) {
        std::atomic<int> begun{0};
        std::atomic<int> made{0};
        const auto begin = [&] { ++begun; };
        const auto make = [&] { return ++made; };
        const homing::place last = homing::on(homing::domain_count() - 1);
        tbb::task_group_context before;
        before.cancel_group_execution();
        static_cast<void>(fork_join(before, make, begin));
        static_cast<void>(fork_join(before, begin, make, begin));
        static_cast<void>(fork_join(before, last, begin, last, make, begin));
        ASSERT_EQ(begun.load(), 0);
        ASSERT_EQ(made.load(), 3);
        tbb::task_group_context meanwhile;
        tbb::task_group group(meanwhile);
        group.run_and_wait([&] {
          meanwhile.cancel_group_execution();
          static_cast<void>(fork_join(begin, begin, make));
          static_cast<void>(fork_join(make, begin));
          static_cast<void>(fork_join(last, begin, make, begin));
          fork_join(last, begin);
        });
        ASSERT_EQ(begun.load(), 0);
        ASSERT_EQ(made.load(), 6);
      }
    });
  }
}

/// On stock oneTBB a group that is cancelled already drops it.
TEST(fork_join, an_exception_after_a_cancellation_comes_back_and_no_branch_runs_twice) {
  with_helpers([] {
    for (int round = 0; round < 50; ++round) {
      tbb::task_group_context context;
      std::atomic<int> runs{0};
      EXPECT_EQ(thrown_by([&] {
                  static_cast<void>(fork_join(
                      context,
                      [&]() -> int {
                        ++runs;
                        context.cancel_group_execution();
                        throw failure(1);
                      },
                      [] {}));
                }),
                1);
      ASSERT_EQ(runs.load(), 1);
    }
  });
}

TEST(fork_join, values_in_a_cancelled_group_are_made_until_one_throws) {
  tbb::task_group_context context;
  context.cancel_group_execution();
  bool has_run = false;
  EXPECT_EQ(thrown_by([&] {
              static_cast<void>(fork_join(
                  context, [] { return 1; }, []() -> int { throw failure(2); }, [&] { return has_run = true; }));
            }),
            2);
  EXPECT_FALSE(has_run);
}

TEST(fork_join, an_exception_cancels_the_callers_group) {
  with_helpers([] {
    tbb::task_group_context context;
    EXPECT_EQ(thrown_by([&] {
                fork_join(
                    context, [] { throw failure(1); }, [] {});
              }),
              1);
    EXPECT_TRUE(context.is_group_execution_cancelled());
  });
}

// ---- among tasks

TEST(fork_join, inside_tasks_and_around_them) {
  with_helpers([] {
    for (int round = 0; round < 20; ++round) {
      std::atomic<long> sum{0};
      tbb::parallel_for(0, 50, [&](int) {
        const auto [left, right] = fork_join([] { return fib(10); },
                                             [] {
                                               std::atomic<long> inner{0};
                                               tbb::parallel_for(0, 20, [&](int) { inner += fib(5); });
                                               tbb::task_group group;
                                               for (int i = 0; i < 5; ++i) group.run([&] { inner += fib(6); });
                                               group.wait();
                                               return inner.load();
                                             });
        sum += left + right;
      });
      ASSERT_EQ(sum.load(), 50 * (55 + 20 * 5 + 5 * 8));
    }
  });
}

/// A branch that waits in another region or arena leaves the ones below it to others.
TEST(fork_join, branches_below_a_wait_are_for_others) {
  with_helpers([] {
    tbb::task_arena other(2);
    for (int round = 0; round < 50; ++round) {
      std::atomic<bool> ran{false};
      const auto await_it = [&] { await("the branch below", [&] { return ran.load(); }); };
      fork_join([&] { tbb::this_task_arena::isolate(await_it); }, [&] { ran = true; });
      ran = false;
      fork_join([&] { other.execute(await_it); }, [&] { ran = true; });
    }
  });
}

TEST(fork_join, isolated_waits_run_no_branch_of_outside) {
  with_helpers([] {
    thread_local int isolated = 0;
    std::atomic<int> strangers{0};
    for (int round = 0; round < 20; ++round) {
      tbb::parallel_for(0, 64, [&](int i) {
        if (i % 2 == 0) {
          fork_join([] { fib(8); },
                    [&] {
                      if (isolated != 0) ++strangers;
                    });
        } else {
          tbb::this_task_arena::isolate([&] {
            ++isolated;
            fib(10);
            --isolated;
          });
        }
      });
    }
    EXPECT_EQ(strangers.load(), 0);
  });
}

TEST(fork_join, in_several_arenas_and_from_foreign_threads) {
  const parallelism eight(parallelism::max_allowed_parallelism, 8);
  std::vector<std::thread> threads;
  threads.reserve(6);
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 10; ++round) {
        EXPECT_EQ(fib(15), 610);
        tbb::task_arena arena(3);
        const auto [left, right] =
            fork_join([&] { return arena.execute([] { return fib(14); }); }, [] { return fib(14); });
        EXPECT_EQ(left + right, 2 * 377);
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

struct forks_at_its_end {
  ~forks_at_its_end() { result = fib(12); }
  static inline std::atomic<long> result{0};
};

TEST(fork_join, at_the_end_of_a_thread) {
  std::thread([] {
    thread_local const forks_at_its_end before_the_first_fork;
    static_cast<void>(&before_the_first_fork);
    EXPECT_EQ(fib(12), 144);
  }).join();
  EXPECT_EQ(forks_at_its_end::result.load(), 144);
}

// ---- addresses

TEST(fork_join, addressed_branches_run_at_home) {
  const auto report = in_own_process(four_by_two, [] {
    const parallelism limit(parallelism::max_allowed_parallelism, 9);
    tbb::task_arena arena(9, 1);
    arena.execute([] {
      EXPECT_TRUE(on_stock() || homing::current_domain() == homing::domain_index{0});
      // All meet, each at its home: no thread runs two of them, and others leave them to their homes' threads.
      std::atomic<int> begun{0};
      std::atomic<int> at_home{0};
      const auto attend = [&](unsigned home) {
        return [&begun, &at_home, home] {
          if (homing::current_domain() == homing::domain_index{home}) ++at_home;
          ++begun;
          await("all branches", [&] { return begun.load() % 4 == 0; });
          return home;
        };
      };
      for (int round = 0; round < 20; ++round) {
        begun = 0;
        const auto results = fork_join(homing::on(0U), attend(0), homing::on(1U), attend(1), homing::on(2U), attend(2),
                                       homing::on(3U), attend(3));
        ASSERT_EQ(results, std::make_tuple(0U, 1U, 2U, 3U));
      }
      EXPECT_GE(at_home.load(), 20);  // the caller's own always; an address is a hint
    });
  });
  if (on_stock()) return;  // without a report
  for (const unsigned home : {1U, 2U, 3U}) {
    EXPECT_EQ(report.tasks_of_home(home), 20U) << "domain " << home << ", from " << report.text();
  }
}

TEST(fork_join, addresses_with_exceptions_voids_and_no_place) {
  in_own_process(four_by_two, [] {
    for (int round = 0; round < 50; ++round) {
      const auto results = fork_join(
          homing::on(1U), [] {}, [] { return 2; }, homing::place(), [] { return 3; });
      ASSERT_EQ(std::get<1>(results) + std::get<2>(results), 5);
      EXPECT_EQ(thrown_by([] {
                  fork_join(
                      homing::on(2U), [] { throw failure(1); }, homing::on(3U), [] {});
                }),
                1);
      EXPECT_EQ(thrown_by([] { fork_join([] {}, homing::on(3U), []() -> int { throw failure(2); }); }), 2);
    }
  });
}

/// All throw. The caller begins its own first, and then no other.
TEST(fork_join, no_addressed_branch_begins_after_an_exception) {
  in_own_process(four_by_two, [] {
    const parallelism one(parallelism::max_allowed_parallelism, 1);
    tbb::task_arena arena(1);
    arena.execute([] {
      homing::testing::throwing_branches all;
      const auto fail = all.without_value();
      const auto fail_to_count = all.with_value();
      const unsigned own = to_index(homing::current_domain());
      const homing::place here = homing::on(own);
      const homing::place next = homing::on((own + 1) % homing::domain_count());
      const homing::place last = homing::on((own + homing::domain_count() - 1) % homing::domain_count());
      all.expect_one_begins([&] { fork_join(here, fail, here, fail); });
      all.expect_one_begins([&] { fork_join(here, fail, next, fail, last, fail, fail); });
      all.expect_one_begins(
          [&] { static_cast<void>(fork_join(here, fail_to_count, next, fail_to_count, fail_to_count)); });
      all.expect_one_begins(
          [&] { static_cast<void>(fork_join(next, fail_to_count, last, fail, here, fail_to_count)); });
    });
  });
}

/// Both others have become ordinary tasks when the first throws.
TEST(fork_join, no_given_branch_begins_after_an_exception) {
  if (on_stock()) GTEST_SKIP() << "parallel_invoke() begins where it likes";
  const parallelism one(parallelism::max_allowed_parallelism, 1);
  tbb::task_arena arena(1);
  arena.execute([] {
    int begun = 0;
    EXPECT_EQ(thrown_by([&] {
                fork_join(
                    [] {
                      tbb::this_task_arena::isolate([] {});
                      throw failure(1);
                    },
                    [&] { ++begun; }, [&] { ++begun; });
              }),
              1);
    EXPECT_EQ(begun, 0);
  });
}

TEST(fork_join, a_pinned_section_keeps_its_branches) {
  if (on_stock()) GTEST_SKIP() << "pinned sections are ours";
  in_own_process(four_by_two, [] {
    for (unsigned d = 0; d < 4; ++d) {
      homing::pinned(d, [d] {
        std::atomic<int> away{0};
        homing::for_children(0, 100, [&](int) {
          if (homing::current_domain() != homing::domain_index{d}) ++away;
          static_cast<void>(fib(10));
          fork_join([] { fib(9); },
                    [&] {
                      if (homing::current_domain() != homing::domain_index{d}) ++away;
                    });
        });
        EXPECT_EQ(away.load(), 0);
      });
    }
  });
}

TEST(fork_join, thieves_that_stay_take_no_branch_of_other_domains) {
  in_own_process(four_by_two, [] {
    tbb::task_arena arena;
    homing::initialize(arena, homing::steal_policy::domain);
    arena.execute([] {
      const homing::domain_index mine = homing::current_domain();
      std::atomic<int> away{0};
      for (int round = 0; round < 50; ++round) {
        homing::for_children(0, 20, [&](int) {
          if (homing::current_domain() != mine) ++away;
          static_cast<void>(fib(10));
        });
      }
      EXPECT_EQ(away.load(), 0);
    });
  });
}

void expect_forks_without_membarrier() {
  if (!homing::testing::refuse({SYS_membarrier}, EPERM)) GTEST_SKIP() << "no filter can be installed here";
  with_helpers([] {
    for (int round = 0; round < 20; ++round) {
      ASSERT_EQ(fib(fib_argument), fib_answer);
      meet([](auto&& f, auto&& g) { fork_join(f, g); });
    }
  });
}

TEST(fork_join, where_membarrier_is_refused) { in_own_process({}, expect_forks_without_membarrier); }

TEST(fork_join, where_membarrier_is_refused_after_a_while) {
  in_own_process({}, [] {
    with_helpers([] { ASSERT_EQ(fib(fib_argument), fib_answer); });
    expect_forks_without_membarrier();
  });
}

}  // namespace
