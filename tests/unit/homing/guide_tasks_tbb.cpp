// The code of docs/guide/tasks.md, compiled and run, on a made-up machine of four nodes (tests/tidy/snippets.py holds
// page and program together).
#include <gtest/gtest.h>
#include <homing/parallel_for.hpp>
#include <homing/parallel_reduce.hpp>
#include <homing/pinned.hpp>
#include <homing/placement.hpp>
#include <homing/steal_policy.hpp>
#include <homing/tasks.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "unit/common/own_process.hpp"

namespace {

const homing::testing::environment four_nodes{{"HOMING_TOPOLOGY", "node:4 core:2 pu:1"}};

/// A table of lookups in one domain each.
struct table {
  explicit table(unsigned parts) : sums(parts) {}
  void rebuild(unsigned d) { sums[d].fetch_add(1); }
  [[nodiscard]] long query(unsigned d) const { return sums[d].load(); }
  std::vector<std::atomic<long>> sums;
};

TEST(guide, loops_that_go_to_their_data) {
  homing::testing::in_own_process(four_nodes, [] {
    const std::size_t n = 100000;

    std::vector<double> x(n), y(n);
    const homing::regular_distribution<> rows = homing::block(n);
    const auto placed_x = homing::enforce(rows, x);  // the pages go to their homes, once
    const auto placed_y = homing::enforce(rows, y);

    for (int step = 0; step < 10; ++step) {
      homing::parallel_for(
          tbb::blocked_range<std::size_t>(0, n),
          [&](const tbb::blocked_range<std::size_t>& r) {
            for (std::size_t i = r.begin(); i != r.end(); ++i) y[i] += 2 * x[i] + 1;
          },
          rows);  // the work goes there each time
    }
    const double sum = homing::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, n), 0.0,
        [&](const tbb::blocked_range<std::size_t>& r, double s) {
          return std::accumulate(y.begin() + static_cast<std::ptrdiff_t>(r.begin()),
                                 y.begin() + static_cast<std::ptrdiff_t>(r.end()), s);
        },
        std::plus<>(), rows);

    EXPECT_EQ(sum, 10.0 * static_cast<double>(n));
  });
}

TEST(guide, tasks_with_addresses) {
  homing::testing::in_own_process(four_nodes, [] {
    table index(homing::domain_count());

    homing::task_group group;
    for (unsigned d = 0; d < homing::domain_count(); ++d) {
      group.run(homing::on(d), [&, d] { index.rebuild(d); });  // any thread of domain d
    }
    group.wait();

    long found = 0;
    for (unsigned d = 0; d < homing::domain_count(); ++d) {
      found += homing::run_on(d, [&] { return index.query(d); });  // there, and the value comes back
    }

    EXPECT_EQ(found, homing::domain_count());
  });
}

TEST(guide, sections_that_stay) {
  homing::testing::in_own_process(four_nodes, [] {
    std::vector<double> block(10000, 4.0);

    const double norm = homing::pinned(2U, [&] {
      return std::sqrt(tbb::parallel_reduce(
          tbb::blocked_range<std::size_t>(0, block.size()), 0.0,
          [&](const auto& r, double s) {
            for (std::size_t i = r.begin(); i != r.end(); ++i) s += block[i] * block[i];
            return s;
          },
          std::plus<>()));
    });

    EXPECT_EQ(norm, 400.0);
  });
}

TEST(guide, arenas_whose_thieves_stay) {
  homing::testing::in_own_process(four_nodes, [] {
    std::vector<double> a(100'000, 1.0);
    const tbb::blocked_range<std::size_t> range(0, a.size());
    const auto distribution = homing::block(a.size());
    const auto scale = [&](const auto& r) {
      for (std::size_t i = r.begin(); i != r.end(); ++i) a[i] *= 2.0;
    };

    tbb::task_arena arena;
    homing::initialize(
        arena, homing::steal_policy::domain);  // before its first use; HOMING_STEAL=domain does it for all arenas
    arena.execute([&] { homing::parallel_for(range, scale, distribution); });

    EXPECT_EQ(std::count(a.begin(), a.end(), 2.0), 100'000);
  });
}

struct upper_triangle {
  std::size_t n;
  // The rows above a cut hold as many elements as those below it: a cut for each domain.
  [[nodiscard]] std::optional<homing::domain_index> home(const homing::box<1>& rows) const {
    const auto part = [&](std::size_t row) {
      const double left = static_cast<double>(n - row) / static_cast<double>(n);
      const auto rounded = static_cast<std::uint32_t>((1 - left * left) * homing::domain_count());
      return std::min(rounded, homing::domain_count() - 1);  // near the last row, left * left may be lost in the 1
    };
    const std::uint32_t first = part(rows.first[0]);
    if (part(rows.last[0] - 1) != first) return std::nullopt;  // more than one home: asked again for smaller parts
    return homing::domain_index{first};
  }
};

TEST(guide, a_distribution_of_ones_own) {
  homing::testing::in_own_process(four_nodes, [] {
    const std::size_t n = 1000;
    std::vector<std::atomic<int>> seen(n);

    homing::parallel_for(
        std::size_t{0}, n, [&](std::size_t row) { seen[row].fetch_add(1); }, upper_triangle{n});

    for (const auto& s : seen) ASSERT_EQ(s.load(), 1);

    const std::size_t many = 200'000'000;
    std::atomic<std::size_t> rows{0};
    homing::parallel_for(
        tbb::blocked_range<std::size_t>(0, many, many / 100), [&](const auto& r) { rows += r.size(); },
        upper_triangle{many});
    EXPECT_EQ(rows.load(), many);
    const auto last = upper_triangle{many}.home(homing::interval(many - 1, many));
    EXPECT_EQ(last, homing::domain_index{homing::domain_count() - 1});
  });
}

}  // namespace
