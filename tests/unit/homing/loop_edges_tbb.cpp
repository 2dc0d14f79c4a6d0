// Loops at the edges of what they take: ranges of more points than can be counted, bodies that can't be copied, ranges
// of all kinds, distributions that answer in other words or name no homes; on one domain as on four.
#include <gtest/gtest.h>
#include <homing/distributed_span.hpp>
#include <homing/parallel_for.hpp>
#include <homing/parallel_for_each.hpp>
#include <homing/parallel_reduce.hpp>
#include <homing/parallel_scan.hpp>
#include <homing/schedule.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <string>

#include "unit/common/own_process.hpp"

namespace {

using homing::domain_index;
using indices = tbb::blocked_range<std::size_t>;

class loop_edges : public ::testing::TestWithParam<std::string> {
 protected:
  template <class Body>
  static void on_machine(Body&& body) {
    homing::testing::in_own_process(homing::testing::on_machine(GetParam()), body);
  }
};
INSTANTIATE_TEST_SUITE_P(machines, loop_edges, ::testing::Values("node:1 core:3 pu:1", "node:4 core:2 pu:1"));

/// All of any space belongs to the last domain; the answer is never "none", and its type says so.
template <std::size_t Dims>
struct all_in_one {
  [[nodiscard]] domain_index home(const homing::box<Dims>& /*part*/) const {
    return domain_index{homing::domain_count() - 1};
  }
};

/// Names no home, and counts who asks.
template <std::size_t Dims>
struct without_homes {
  static constexpr bool has_homes = false;
  std::atomic<std::size_t>* questions;
  [[nodiscard]] std::optional<domain_index> home(const homing::box<Dims>& /*part*/) const {
    ++*questions;
    return std::nullopt;
  }
};

/// Partitioners of somebody's own, and what stands for one.
struct own_affinity : tbb::affinity_partitioner {};
struct own_auto : tbb::auto_partitioner {};
struct own_static : tbb::static_partitioner {};
struct holds_simple {
  tbb::simple_partitioner held;
  operator const tbb::simple_partitioner&() const { return held; }  // NOLINT(google-explicit-constructor)
};

TEST_P(loop_edges, whatever_converts_to_a_partitioner_is_one) {
  on_machine([] {
    const auto sum = [](const indices& r, std::size_t s) {
      for (std::size_t i = r.begin(); i != r.end(); ++i) s += i;
      return s;
    };
    const auto run = [&sum](auto&& how) {
      std::atomic<std::size_t> total{0};
      tbb::task_group_context context;
      homing::parallel_for(
          indices(0, 100), [&](const indices& r) { total += sum(r, 0); }, how);
      homing::parallel_for(
          0, 100, [&](int i) { total += static_cast<std::size_t>(i); }, how);
      homing::parallel_for(
          indices(0, 100), [&](const indices& r) { total += sum(r, 0); }, how, context);
      EXPECT_EQ(total.load(), 3 * 4950U);
      EXPECT_EQ(homing::parallel_reduce(indices(0, 100), std::size_t{0}, sum, std::plus<>(), how), 4950U);
    };
    own_affinity mine;
    tbb::affinity_partitioner affinity;
    run(mine);
    run(std::ref(affinity));
    run(own_auto());
    const own_static constant;
    run(constant);
    run(holds_simple());
    const auto scan = [&sum](const indices& r, std::size_t s, bool) { return sum(r, s); };
    EXPECT_EQ(homing::parallel_scan(indices(0, 100), std::size_t{0}, scan, std::plus<>(), own_auto()), 4950U);
    EXPECT_EQ(homing::parallel_scan(indices(0, 100), std::size_t{0}, scan, std::plus<>(), holds_simple()), 4950U);
    const auto deterministic = [&sum](auto&& how) {
      return homing::parallel_deterministic_reduce(indices(0, 100), std::size_t{0}, sum, std::plus<>(), how);
    };
    EXPECT_EQ(deterministic(own_static()), 4950U);
    EXPECT_EQ(deterministic(holds_simple()), 4950U);
    static_assert(!homing::detail::loop_partitioner<const tbb::affinity_partitioner&>, "it learns");
    static_assert(!homing::detail::loop_partitioner<int>);
  });
}

TEST_P(loop_edges, ranges_of_more_points_than_can_be_counted) {
  on_machine([] {
    constexpr std::size_t side = std::size_t{1} << 32,
                          unit = 1024;  // a row of 2^32, 2^64 in all: 0 if counted in 64 bits
    const auto run = [](std::size_t grain, const auto& dist) {
      std::atomic<std::size_t> units{0};
      homing::parallel_for(
          tbb::blocked_range2d<std::size_t>(0, side, grain, 0, side, grain),
          [&](const auto& r) { units += r.rows().size() / unit * (r.cols().size() / unit); }, dist);
      return static_cast<double>(units.load());
    };
    const double all = static_cast<double>(side / unit) * static_cast<double>(side / unit);
    for (const std::size_t grain : {side / 2, side / 16}) EXPECT_NEAR(run(grain, all_in_one<2>{}), all, all / 1000);

    std::atomic<std::size_t> points{0};
    const auto add = [&](const indices& r) { points += r.size(); };
    const auto over = homing::domain_set::first(homing::domain_count());
    homing::parallel_for(indices(0, SIZE_MAX), add, homing::block(SIZE_MAX, over));
    EXPECT_EQ(points.exchange(0), SIZE_MAX);
    homing::parallel_for(indices(0, SIZE_MAX), add, homing::block_cyclic(SIZE_MAX, std::size_t{1} << 61, over));
    EXPECT_EQ(points.exchange(0), SIZE_MAX);
    const auto sum = [](const indices& r, std::size_t before) { return before + r.size(); };
    EXPECT_EQ(homing::parallel_reduce(indices(0, SIZE_MAX), std::size_t{0}, sum, std::plus<>(),
                                      homing::block(SIZE_MAX, over)),
              SIZE_MAX);
  });
}

TEST_P(loop_edges, bodies_that_can_not_be_copied) {
  on_machine([] {
    struct body {
      std::atomic<std::size_t>& points;
      explicit body(std::atomic<std::size_t>& of) : points(of) {}
      body(const body&) = delete;
      body& operator=(const body&) = delete;
      void operator()(const indices& r) const { points += r.size(); }
    };
    std::atomic<std::size_t> points{0};
    homing::parallel_for(indices(0, 1000), body(points), homing::block(1000));
    EXPECT_EQ(points, 1000U);
  });
}

TEST_P(loop_edges, elements_of_ranges_whose_end_is_of_another_type) {
  on_machine([] {
    std::atomic<long> sum{0};
    const auto add = [&](long i) { sum += i; };
    homing::parallel_for_each(std::views::iota(0L, 10), add, homing::block(10));
    EXPECT_EQ(sum.exchange(0), 45);
    homing::parallel_for_each(std::views::iota(0L, 10), add, tbb::simple_partitioner{});
    EXPECT_EQ(sum, 45);
  });
}

TEST_P(loop_edges, distributions_that_always_have_an_answer) {
  on_machine([] {
    std::atomic<std::size_t> points{0};
    const auto add = [&](const indices& r) { points += r.size(); };
    homing::parallel_for(indices(0, 1000), add, all_in_one<1>{});
    homing::parallel_for(indices(0, 1000), add, homing::schedule(all_in_one<1>{}));
    EXPECT_EQ(points, 2000U);
    EXPECT_EQ(homing::run_at(all_in_one<1>{}, 5, 1000),
              (homing::piece{5, 1000, domain_index{homing::domain_count() - 1}}));
    const homing::row_major<2, all_in_one<2>> rows({}, {10, 10});
    EXPECT_EQ(homing::run_at(rows, 0, 100).last, 100U);
  });
}

TEST_P(loop_edges, distributions_without_homes_are_not_asked) {
  on_machine([] {
    std::atomic<std::size_t> questions{0};
    std::atomic<std::size_t> points{0};
    const auto add = [&](const indices& r) { points += r.size(); };
    const without_homes<1> none{&questions};
    homing::parallel_for(indices(0, 100'000), add, none);
    homing::parallel_for(indices(0, 100'000), add, homing::schedule(none));
    EXPECT_EQ(points, 200'000U);
    const homing::row_major<2, without_homes<2>> rows({&questions}, {1000, 100});
    EXPECT_EQ(homing::run_at(rows, 7, 100'000), (homing::piece{7, 100'000, std::nullopt}));
    const homing::shifted<1, without_homes<1>> part(none, {10}, {1000});
    EXPECT_EQ(homing::run_at(part, 7, 1000), (homing::piece{7, 1000, std::nullopt}));
    EXPECT_EQ(questions, 0U);
  });
}

TEST_P(loop_edges, negative_indices_are_the_programmers_on_every_machine) {
  on_machine([] {
    const auto nothing = [](const auto&...) {};
    const auto sum = [](const tbb::blocked_range<int>&, int before) { return before; };
    const tbb::blocked_range<int> range(-5, 5);
    const auto dist = homing::block(10);
    EXPECT_DEATH(homing::parallel_for(-5, 5, nothing, dist), "are not negative");
    EXPECT_DEATH(static_cast<void>(homing::parallel_reduce(range, 0, sum, std::plus<>(), dist)), "are not negative");
    const auto scan = [](const tbb::blocked_range<int>&, int before, bool) { return before; };
    EXPECT_DEATH(static_cast<void>(homing::parallel_scan(range, 0, scan, std::plus<>(), dist)), "are not negative");
  });
}

}  // namespace
