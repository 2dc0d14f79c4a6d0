// Loops over arrays and spans with a distribution, and schedules that are chosen at run time: whatever form the body
// has, each element is given to it once, together only with those of its home. Method: made-up machines with more
// threads than CPUs, each in a process of its own; results compared with plain loops.
#include <homing/array_loops.hpp>
#include <homing/distributed_array.hpp>
#include <homing/parallel_for_each.hpp>
#include <homing/schedule.hpp>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task.h>

#include <atomic>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/common/own_process.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

/// On one domain, on four with 16 threads, and on more domains than this test has rows.
class distributed_loops : public ::testing::TestWithParam<const char*> {
 protected:
  template <class Body>
  void on_machine_of_parameter(Body&& body) {
    in_own_process(on_machine(GetParam()), [&] {
      const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 16);
      tbb::task_arena(16).execute(body);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(machines, distributed_loops,
                         ::testing::Values("node:1 core:4 pu:1", "node:4 core:4 pu:1", "node:16 core:1 pu:1"));

/// Of the answer for a run. With nothing to address, parts are TBB's own.
bool is_one_home(const std::optional<domain_index>& home) { return home || domain_count() == 1; }

template <class Data>
void expect_all(const Data& data, int value) {
  std::size_t wrong = 0;
  for (const int& v : data) wrong += v != value;
  EXPECT_EQ(wrong, 0U);
}

TEST_P(distributed_loops, bodies_of_every_form_get_each_element_once) {
  on_machine_of_parameter([] {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{100000}}) {
      for (const auto& d : {block(n), cyclic(n), block_cyclic(n, 100)}) {
        distributed_array<int> x(d);
        const int* const data = x.data();
        parallel_for(x, [](int& e) { ++e; });
        parallel_for(x, [&](std::size_t i, int& e) { e += &e == data + i ? 1 : 100; });
        parallel_for(x, [&](std::size_t first, std::span<int> run) {
          const bool has_one_home = is_one_home(d.home(interval(first, first + run.size())));
          for (int& e : run) e += run.data() == data + first && has_one_home ? 1 : 100;
        });
        expect_all(x, 3);
        std::atomic<long> sum{0};
        parallel_for(std::as_const(x), [&](const int& e) { sum += e; });
        EXPECT_EQ(sum, 3 * static_cast<long>(n));
        parallel_for(x.view().subview(n / 4, n / 2), [](int& e) { e = -1; });
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(x[i], i >= n / 4 && i < n / 2 ? -1 : 3) << i;
      }
    }
  });
}

TEST_P(distributed_loops, go_over_boxes_of_matrices_and_cubes) {
  on_machine_of_parameter([] {
    const point<2> extents{90, 110};
    for (const auto& d : {block<2>(extents, domain_set::all()), block_grid<2>(extents, domain_set::all())}) {
      distributed_array<int, 2> m(d);
      parallel_for(m, [](int& e) { ++e; });
      parallel_for(m, [&](std::size_t i, std::size_t j, int& e) { e += &e == &m(i, j) ? 1 : 100; });
      parallel_for(m, [&](std::size_t i, std::size_t j, std::span<int> run) {
        const bool has_one_home = is_one_home(d.home({{i, j}, {i + 1, j + run.size()}}));
        for (int& e : run) e += &run[0] == &m(i, j) && has_one_home ? 1 : 100;
      });
      expect_all(m, 3);
      const auto tile = m.view().subview({{20, 30}, {60, 100}}).subview({{1, 2}, {40, 70}});
      parallel_for(tile, [&](std::size_t i, std::size_t j, std::span<int> run) {
        const bool has_one_home = is_one_home(d.home({{21 + i, 32 + j}, {22 + i, 32 + j + run.size()}}));
        for (int& e : run) e += has_one_home ? 1 : 100;
      });
      for (std::size_t i = 0; i < extents[0]; ++i) {
        for (std::size_t j = 0; j < extents[1]; ++j) {
          ASSERT_EQ(m(i, j), i >= 21 && i < 60 && j >= 32 && j < 100 ? 4 : 3) << i << ", " << j;
        }
      }
      EXPECT_EQ(parallel_reduce(
                    tile, 0L, [](int e, long sum) { return sum + e; }, std::plus<>()),
                39 * 68 * 4);
    }
    distributed_array<int, 3> cube(block_grid<3>({20, 30, 40}, domain_set::all()));
    parallel_for(cube,
                 [&](std::size_t i, std::size_t j, std::size_t k, int& e) { e += &e == &cube(i, j, k) ? 1 : 100; });
    parallel_for(cube.view().subview({{0, 0, 0}, {20, 30, 40}}), [](int& e) { ++e; });
    expect_all(cube, 2);
  });
}

TEST_P(distributed_loops, reduce_in_the_order_of_the_elements) {
  on_machine_of_parameter([] {
    const distributed_array<char> letters(5000,
                                          from_index([](std::size_t i) { return static_cast<char>('a' + i % 26); }));
    const std::string all(letters.begin(), letters.end());
    const auto join = [](std::string a, const std::string& b) { return std::move(a) + b; };
    EXPECT_EQ(parallel_reduce(
                  letters, std::string(), [](char c, std::string s) { return std::move(s) + c; }, join),
              all);
    EXPECT_EQ(parallel_reduce(
                  letters, std::string(),
                  [](std::size_t i, char c, std::string s) {
                    return std::move(s) + (c == static_cast<char>('a' + i % 26) ? c : '!');
                  },
                  join),
              all);
    EXPECT_EQ(parallel_reduce(
                  letters, std::string(),
                  [](std::size_t, std::span<const char> run, std::string s) {
                    return std::move(s).append(run.begin(), run.end());
                  },
                  join),
              all);
    const distributed_array<char> none;
    EXPECT_EQ(parallel_reduce(
                  none, std::string("identity"), [](char c, std::string s) { return s + c; }, join),
              "identity");
  });
}

TEST_P(distributed_loops, take_memory_of_others_and_pass_exceptions_on) {
  on_machine_of_parameter([] {
    std::vector<int> values(10000, 1);
    const distributed_span all(values, block(values.size()));
    const placed_range placed = all.enforce();
    parallel_for(all, [](int& e) { ++e; });
    expect_all(values, 2);
    EXPECT_THROW(parallel_for(all,
                              [](std::size_t i, int&) {
                                if (i == 7777) throw std::runtime_error("an element");
                              }),
                 std::runtime_error);
    EXPECT_EQ(parallel_reduce(
                  all, 0, [](int e, int sum) { return e + sum; }, std::plus<>()),
              20000);
  });
}

TEST_P(distributed_loops, take_a_context) {
  on_machine_of_parameter([] {
    distributed_array<int> x(10000);
    distributed_array<int, 2> m(block<2>({90, 110}, domain_set::all()));
    tbb::task_group_context context;
    std::atomic<int> elsewhere{0};
    const auto note = [&](int& e) {
      ++e;
      elsewhere += tbb::task::current_context() == &context ? 0 : 1;
    };
    homing::parallel_for(x, note, context);
    homing::parallel_for(m, note, context);
    homing::parallel_for(x.view().subview(0, 10), note, context);
    const auto add = [](int e, int sum) { return sum + e; };
    EXPECT_EQ(homing::parallel_reduce(x, 0, add, std::plus<>(), context), 10010);
    EXPECT_EQ(homing::parallel_reduce(std::as_const(m), 0, add, std::plus<>(), context), 9900);
    EXPECT_EQ(elsewhere, 0);
    context.cancel_group_execution();
    homing::parallel_for(x, note, context);
    homing::parallel_for(m, note, context);
    EXPECT_EQ(homing::parallel_reduce(x, 0, add, std::plus<>(), context), 0);
    context.reset();
    EXPECT_EQ(homing::parallel_reduce(x, 0, add, std::plus<>(), context), 10010) << "a cancelled loop visited nothing";
    EXPECT_THROW(homing::parallel_for(
                     x,
                     [](std::size_t i, int&) {
                       if (i == 7777) throw std::runtime_error("an element");
                     },
                     context),
                 std::runtime_error);
  });
}

// --- schedules -------------------------------------------------------------------------------------------

TEST_P(distributed_loops, one_call_serves_both) {
  on_machine_of_parameter([] {
    constexpr std::size_t n = 10000;
    const auto dist = block(n);
    tbb::affinity_partitioner ap;
    std::vector<int> seen(n);
    const tbb::blocked_range<std::size_t> range(0, n);
    const auto see = [&](const tbb::blocked_range<std::size_t>& r) {
      for (std::size_t i = r.begin(); i != r.end(); ++i) ++seen[i];
    };
    for (const bool use_numa : {true, false}) {
      parallel_for(range, see, use_numa ? schedule(dist) : ap);
      const schedule kept = use_numa ? schedule(dist) : ap;
      const schedule copy = kept;
      parallel_for(range, see, copy);
      tbb::task_group_context context;
      parallel_for(range, see, kept, context);
      parallel_for(
          std::size_t{0}, n, [&](std::size_t i) { ++seen[i]; }, copy);
      const auto sum = [&](const tbb::blocked_range<std::size_t>& r, std::size_t so_far) { return so_far + r.size(); };
      EXPECT_EQ(parallel_reduce(range, std::size_t{0}, sum, std::plus<>(), copy), n);
      EXPECT_EQ(parallel_deterministic_reduce(range, std::size_t{0}, sum, std::plus<>(), copy), n);
      parallel_for_each(
          seen, [](int& times) { ++times; }, copy);
    }
    parallel_for_each(
        seen, [](int& times) { ++times; }, ap);
    expect_all(seen, 11);
  });
}

TEST_P(distributed_loops, a_schedule_is_made_of_any_partitioner_or_distribution) {
  on_machine_of_parameter([] {
    // Without size() or runs: one member is enough.
    struct halves {
      [[nodiscard]] std::optional<domain_index> home(const box<1>& part) const {
        return part.last[0] <= 500 ? std::optional(domain_index{0}) : std::nullopt;
      }
    };
    for (const schedule& how :
         {schedule(tbb::auto_partitioner()), schedule(tbb::simple_partitioner()), schedule(tbb::static_partitioner()),
          schedule(cyclic(1000)), schedule(halves()), schedule(block(300))}) {  // ends before the loop does
      std::vector<std::atomic<int>> seen(1000);
      parallel_for(
          tbb::blocked_range<int>(0, 1000),
          [&](const tbb::blocked_range<int>& r) {
            for (int i = r.begin(); i != r.end(); ++i) seen[static_cast<std::size_t>(i)].fetch_add(1);
          },
          how);
      expect_all(std::vector<int>(seen.begin(), seen.end()), 1);
    }
  });
}

TEST(schedule, keeps_what_it_was_made_of) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    tbb::affinity_partitioner ap;
    const schedule by_reference = ap;
    by_reference.choose([&](auto& chosen) {
      EXPECT_EQ(static_cast<const void*>(&chosen), static_cast<const void*>(&ap)) << "its state must last";
    });
    schedule dist = block(100);
    const schedule copy = dist;
    dist = ap;
    copy.choose([](const auto& chosen) {
      if constexpr (distribution_over<std::remove_cvref_t<decltype(chosen)>, 1>) {
        EXPECT_EQ(chosen.home(interval(30, 50)), domain_index{1});
        EXPECT_FALSE(chosen.home(interval(20, 30)));
        EXPECT_EQ(chosen.size(), 100U);
      } else {
        ADD_FAILURE() << "a distribution was given";
      }
    });
    if (!runtime().is_homing) return;
    std::atomic<int> parts_of_several_homes{0};
    parallel_for(
        tbb::blocked_range<std::size_t>(0, 100),
        [&](const tbb::blocked_range<std::size_t>& r) {
          parts_of_several_homes += block(100).home(interval(r.begin(), r.end())) ? 0 : 1;
        },
        copy);
    EXPECT_EQ(parts_of_several_homes, 0);
  });
}

TEST(array_loops, a_body_that_takes_anything_gets_elements) {
  homing::distributed_array<int> x(100);
  homing::parallel_for(x, [](auto&& e) { e += 1; });
  homing::parallel_for(x, [](auto i, auto&& e) { e += static_cast<int>(i); });  // with a std::span it would not compile
  const auto sum = homing::parallel_reduce(
      x, 0, [](auto&& e, auto so_far) { return so_far + e; }, std::plus<>());
  EXPECT_EQ(sum, 100 + 4950);
}

}  // namespace
