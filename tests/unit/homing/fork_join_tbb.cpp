// Fork and join: every branch runs once, values and the first exception come back, whoever runs it: alone, helped,
// deep, and on stock oneTBB.
#include <gtest/gtest.h>
#include <pthread.h>
#include <homing/fork_join.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "unit/common/forks.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

using homing::fork_join;
using homing::testing::await;
using homing::testing::failure;
using homing::testing::fib;
using homing::testing::fib_answer;
using homing::testing::fib_argument;
using homing::testing::meet;
using homing::testing::on_stock;
using homing::testing::parallelism;
using homing::testing::thrown_by;
using homing::testing::with_helpers;

TEST(fork_join, values_come_back_in_order) {
  int target = 7;
  const auto results = fork_join([] { return 1; }, [] { return std::string("two"); },
                                 [&target]() -> int& { return target; }, [] {}, [] { return 5.0; });
  static_assert(std::is_same_v<decltype(results), const std::tuple<int, std::string, int&, std::monostate, double>>);
  EXPECT_EQ(std::get<0>(results), 1);
  EXPECT_EQ(std::get<1>(results), "two");
  EXPECT_EQ(&std::get<2>(results), &target);
  EXPECT_EQ(std::get<4>(results), 5.0);
}

TEST(fork_join, nothing_comes_back_if_no_branch_has_a_value) {
  int left = 0;
  int right = 0;
  static_assert(std::is_void_v<decltype(fork_join([] {}, [] {}))>);
  fork_join([&] { left = 1; }, [&] { right = 2; });
  EXPECT_EQ(left, 1);
  EXPECT_EQ(right, 2);
}

/// Where thread and branch meet: with the branch here, and on another thread.
TEST(fork_join, values_may_be_moved_only) {
  with_helpers([] {
    for (int round = 0; round < 200; ++round) {
      std::atomic<bool> taken{false};
      auto [here, there] = fork_join(
          [&] {
            if (!on_stock()) await("the other branch", [&] { return taken.load(); });
            return std::make_unique<int>(1);
          },
          [&] {
            taken = true;
            return std::make_unique<int>(2);
          });
      ASSERT_EQ(*here + *there, 3);
    }
  });
}

/// Where thread and branch meet, and where the caller does all.
TEST(fork_join, values_may_be_const_or_references_to_what_is_left_behind) {
  with_helpers([] {
    int target = 3;
    for (int round = 0; round < 200; ++round) {
      std::atomic<bool> taken{false};
      auto [here, there, reference, made] = fork_join(
          [&] {
            if (round % 2 == 0 && !on_stock()) await("the other branch", [&] { return taken.load(); });
            return 1;
          },
          [&]() -> const std::string {
            taken = true;
            return "two";
          },
          [&target]() -> int&& { return std::move(target); }, []() -> const std::string { return "three"; });
      ASSERT_EQ(here, 1);
      ASSERT_EQ(there, "two");
      ASSERT_EQ(&reference, &target);
      ASSERT_EQ(made, "three");
    }
  });
}

/// As handles of some libraries do: what `&` gives is inside of the object.
struct handle {
  long pad = 0;
  int* p = nullptr;
  int** operator&() { return &p; }
};

TEST(fork_join, values_may_overload_the_address_operator) {
  with_helpers([] {
    int one = 1, two = 2;
    for (int round = 0; round < 200; ++round) {
      std::atomic<bool> taken{false};
      const auto [here, there] = fork_join(
          [&] {
            if (!on_stock()) await("the other branch", [&] { return taken.load(); });
            return handle{1, &one};
          },
          [&] {
            taken = true;
            return handle{2, &two};
          });
      ASSERT_TRUE(here.pad == 1 && here.p == &one && there.pad == 2 && there.p == &two);
    }
  });
}

TEST(fork_join, a_branch_keeps_its_state_if_it_is_passed_as_an_lvalue) {
  struct counter {
    int calls = 0;
    int operator()() { return ++calls; }
  } left, right;
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(fork_join(left, right), std::make_tuple(i, i));
  }
}

TEST(fork_join, a_tree_has_its_answer_alone_and_with_helpers) {
  EXPECT_EQ(fib(fib_argument), fib_answer);
  with_helpers([] {
    for (int round = 0; round < 50; ++round) ASSERT_EQ(fib(fib_argument), fib_answer);
  });
}

TEST(fork_join, others_help) {
  with_helpers([] {
    for (int round = 0; round < 100; ++round) meet([](auto&& f, auto&& g) { fork_join(f, g); });
  });
}

/// The second fork is private, since nobody has asked since the first; its owner then makes no other.
TEST(fork_join, a_private_branch_does_not_wait_for_a_long_one) {
  with_helpers([] {
    for (int round = 0; round < 100; ++round) {
      meet([](auto&& f, auto&& g) {
        for (int i = 0; i < 1000; ++i) fork_join([] {}, [] {});
        fork_join(f, g);
      });
    }
  });
}

/// All helpers sleep before the fork.
TEST(fork_join, sleepers_are_called) {
  if (on_stock()) GTEST_SKIP() << "asks about our workers' sleep";
  with_helpers([] {
    for (int round = 0; round < 10; ++round) {
      meet([](auto&& f, auto&& g) { fork_join(f, g); });
      await("all workers to sleep", [] { return homing::testing::all_workers_rest(); });
    }
  });
}

// ---- exceptions

TEST(fork_join, an_exception_comes_back) {
  with_helpers([] {
    for (int round = 0; round < 200; ++round) {
      EXPECT_EQ(thrown_by([] { fork_join([]() -> int { throw failure(1); }, [] { return 2; }); }), 1);
      EXPECT_EQ(thrown_by([] { fork_join([] { return 1; }, []() -> int { throw failure(2); }); }), 2);
      EXPECT_EQ(thrown_by([] { fork_join([] {}, [] {}, [] { throw failure(3); }, [] {}); }), 3);
    }
  });
}

struct guest {
  std::atomic<int>& alive;
  explicit guest(std::atomic<int>& a) : alive(a) { ++alive; }
  guest(const guest&) = delete;
  guest& operator=(const guest&) = delete;
  ~guest() { --alive; }
};

/// The other branch is under way on another thread when the exception comes, and goes on until it has been told.
TEST(fork_join, an_exception_comes_back_once_the_others_have_ended) {
  if (on_stock()) GTEST_SKIP() << "parallel_invoke() may leave the other branch out";
  with_helpers([] {
    for (int round = 0; round < 100; ++round) {
      for (const bool both : {false, true}) {
        std::atomic<int> alive{0};
        std::atomic<bool> begun{false};
        std::atomic<bool> thrown{false};
        const int got = thrown_by([&] {
          fork_join(
              [&] {
                const guest here(alive);
                await("the other branch", [&] { return begun.load(); });
                thrown = true;
                throw failure(1);
              },
              [&] {
                const guest here(alive);
                begun = true;
                await("the exception", [&] { return thrown.load(); });
                if (both) throw failure(2);
              });
        });
        ASSERT_EQ(alive.load(), 0);
        ASSERT_TRUE(got == 1 || (both && got == 2));
      }
    }
  });
}

TEST(fork_join, values_of_the_others_are_destroyed_after_an_exception) {
  with_helpers([] {
    for (int round = 0; round < 200; ++round) {
      const auto shared = std::make_shared<int>(1);
      std::atomic<bool> made{false};
      EXPECT_EQ(thrown_by([&] {
                  fork_join(
                      [&]() -> std::shared_ptr<int> {
                        if (!on_stock()) await("the other branch", [&] { return made.load(); });
                        throw failure(1);
                      },
                      [&] {
                        made = true;
                        return shared;
                      });
                }),
                1);
      ASSERT_EQ(shared.use_count(), 1);
    }
  });
}

/// Its move may throw; counts those that live.
struct moved_with_care {
  explicit moved_with_care(bool fails) : fails_(fails) { ++alive; }
  moved_with_care(moved_with_care&& other) : fails_(other.fails_) {
    if (fails_) throw failure(1);
    ++alive;
  }
  ~moved_with_care() { --alive; }
  static inline std::atomic<int> alive{0};

 private:
  bool fails_;
};

TEST(fork_join, values_of_the_others_are_destroyed_after_a_move_that_throws) {
  with_helpers([] {
    const auto value = [](bool fails) { return [fails] { return moved_with_care(fails); }; };
    const homing::place last = homing::on(homing::domain_count() - 1);
    for (int round = 0; round < 50; ++round) {
      try {
        static_cast<void>(fork_join(homing::on(0U), value(false), last, value(true), value(false)));
      } catch (const failure&) {
      }
      ASSERT_EQ(moved_with_care::alive, 0) << "addressed";
      try {
        static_cast<void>(fork_join(value(false), value(true), value(false)));
      } catch (const failure&) {
      }
      ASSERT_EQ(moved_with_care::alive, 0) << "in the caller's lane";
    }
  });
}

TEST(fork_join, a_branch_that_has_not_begun_is_left_out_after_an_exception) {
  const parallelism one(parallelism::max_allowed_parallelism, 1);
  bool has_run = false;
  EXPECT_EQ(thrown_by([&] { fork_join([] { throw failure(1); }, [&] { has_run = true; }); }), 1);
  if (!on_stock()) {
    EXPECT_FALSE(has_run);
  }
}

/// Of branches that all throw: one begins, whichever that is, also among those with values.
TEST(fork_join, no_branch_begins_after_an_exception) {
  const parallelism one(parallelism::max_allowed_parallelism, 1);
  tbb::task_arena arena(1);
  arena.execute([] {
    homing::testing::throwing_branches all;
    const auto fail = all.without_value();
    const auto fail_to_count = all.with_value();
    all.expect_one_begins([&] { fork_join(fail, fail); });
    all.expect_one_begins([&] { fork_join(fail, fail, fail, fail, fail); });
    all.expect_one_begins([&] { static_cast<void>(fork_join(fail_to_count, fail, fail_to_count)); });
  });
}

// ---- deep

long chain(long depth) {
  if (depth == 0) return 0;
  const auto [below, here] = fork_join([=] { return chain(depth - 1); }, [] { return 1L; });
  return below + here;
}

TEST(fork_join, a_million_levels) {
#ifdef __SANITIZE_THREAD__
  constexpr long levels = 10'000;  // ThreadSanitizer ends a process whose stack has 65,536
#else
  constexpr long levels = 1'000'000;
#endif
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{4} << 30U), 0);
  long result = 0;
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* out) -> void* {
                  const parallelism limit(parallelism::max_allowed_parallelism, 1);
                  *static_cast<long*>(out) = chain(levels);
                  return nullptr;
                },
                &result),
            0);
  pthread_join(thread, nullptr);
  EXPECT_EQ(result, levels);
}

// ---- children

TEST(fork_join, children_run_once_each) {
  with_helpers([] {
    for (int round = 0; round < 50; ++round) {
      std::vector<std::atomic<int>> runs(500);
      homing::for_children(std::size_t{0}, runs.size(), [&](std::size_t i) {
        ++runs[i];
        static_cast<void>(fib(5));
      });
      for (const auto& r : runs) ASSERT_EQ(r.load(), 1);
    }
    homing::for_children(3, 3, [](int) { FAIL() << "there are no children"; });
    int only = 0;
    homing::for_children(-5, -4, [&](int i) { only = i; });
    EXPECT_EQ(only, -5);
  });
}

template <class Index>
std::size_t count_children(Index first, Index last) {
  std::atomic<std::size_t> count{0};
  std::atomic<long> sum{0};
  homing::for_children(first, last, [&](Index i) {
    ++count;
    sum += static_cast<long>(i);
  });
  long expected = 0;
  for (Index i = first; i != last; ++i) expected += static_cast<long>(i);
  EXPECT_EQ(sum.load(), expected);
  return count.load();
}

/// Differences of such indices are no indices of that type.
TEST(fork_join, children_are_counted_by_any_integer) {
  with_helpers([] {
    EXPECT_EQ(count_children<short>(-20'000, 20'000), 40'000U);
    EXPECT_EQ(count_children<signed char>(-128, 127), 255U);
    EXPECT_EQ(count_children<unsigned char>(0, 255), 255U);
    EXPECT_EQ(count_children<std::int64_t>(-5, 5), 10U);
    EXPECT_EQ(count_children(SIZE_MAX - 5, SIZE_MAX), 5U);
    constexpr int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
    EXPECT_EQ(thrown_by([] { homing::for_children(least, most, [](int) { throw failure(3); }); }), 3)
        << "there are more than an int counts";
  });
}

TEST(fork_join, children_are_begun_in_order_where_nobody_helps) {
  if (on_stock()) GTEST_SKIP() << "parallel_for() has its own order";
  const parallelism one(parallelism::max_allowed_parallelism, 1);
  std::vector<int> order;
  homing::for_children(0, 10, [&](int i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(fork_join, children_that_others_have_taken_do_not_begin_after_an_exception) {
  constexpr int count = 5000;
  tbb::task_arena(4).execute([] {
    for (int round = 0; round < 5; ++round) {
      std::atomic<int> begun{0};
      std::atomic<int> late{0};
      std::atomic<bool> has_thrown{false};
      const auto child = [&](int i) {
        begun.fetch_add(1);
        if (i == 0) {
          await("another thread", [&] { return begun.load() > 1; });
          has_thrown.store(true);
          throw std::runtime_error("the first one");
        }
        if (has_thrown.load()) late.fetch_add(1);
        for (int turn = 0; turn < 100; ++turn) std::this_thread::yield();  // its owner has a CPU meanwhile
      };
      EXPECT_THROW(homing::for_children(0, count, child), std::runtime_error);
      EXPECT_LT(late.load(), count / 4);
    }
  });
}

TEST(fork_join, a_childs_exception_comes_back) {
  with_helpers([] {
    for (int which = 0; which < 40; ++which) {
      std::atomic<int> begun{0};
      std::atomic<int> ended{0};
      EXPECT_EQ(thrown_by([&] {
                  homing::for_children(0, 40, [&](int i) {
                    ++begun;
                    static_cast<void>(fib(8));
                    ++ended;
                    if (i == which) throw failure(i + 1);
                  });
                }),
                which + 1);
      EXPECT_EQ(begun.load(), ended.load());
    }
  });
}

}  // namespace
