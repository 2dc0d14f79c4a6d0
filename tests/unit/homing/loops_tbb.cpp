// Loops with distributions: every iteration once, whatever the distribution and the range; reductions and scans as a
// serial loop has them; deterministic ones bit by bit. Where iterations run: homing_homes_tbb.cpp.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task.h>
#include <homing/parallel_for.hpp>
#include <homing/parallel_for_each.hpp>
#include <homing/parallel_reduce.hpp>
#include <homing/parallel_scan.hpp>
#include <homing/replicated.hpp>
#include <homing/schedule.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <numeric>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/common/own_process.hpp"

namespace {

using homing::domain_index;
using homing::testing::in_own_process;
using parallelism = tbb::global_control;

struct setting {
  std::string topology;
  std::size_t threads;
  friend void PrintTo(const setting& s, std::ostream* out) { *out << s.topology << ", " << s.threads << " threads"; }
};

class loops : public ::testing::TestWithParam<setting> {
 protected:
  template <class Body>
  static void on_machine(Body&& body) {
    in_own_process({{"HOMING_TOPOLOGY", GetParam().topology}}, [&] {
      const parallelism limit(parallelism::max_allowed_parallelism, GetParam().threads);
      body();
    });
  }
};

INSTANTIATE_TEST_SUITE_P(machines, loops,
                         ::testing::Values(setting{"node:1 core:2 pu:1", 2}, setting{"node:2 core:2 pu:1", 4},
                                           setting{"node:4 core:2 pu:1", 1}, setting{"node:4 core:2 pu:1", 16},
                                           setting{"node:8 core:2 pu:1", 16}));

/// How often each index was visited.
class visits {
 public:
  explicit visits(std::size_t size) : counts_(size) {}
  void note(std::size_t i) { counts_.at(i).fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] bool all_once(std::size_t first, std::size_t last) const {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i].load() != (first <= i && i < last ? 1 : 0)) return false;
    }
    return true;
  }

 private:
  std::vector<std::atomic<int>> counts_;
};

/// Homes by a rule of the user's own; every seventh hundred has none.
struct by_hundreds {
  [[nodiscard]] std::optional<domain_index> home(const homing::box<1>& part) const {
    const std::size_t hundred = part.first[0] / 100;
    if ((part.last[0] - 1) / 100 != hundred || hundred % 7 == 6) return std::nullopt;
    return domain_index{static_cast<std::uint32_t>(hundred % homing::domain_count())};
  }
};

/// One that knows its runs, very many of them, of which every third has no home.
struct by_tens {
  [[nodiscard]] homing::piece run_at(std::size_t position, std::size_t last) const {
    const std::size_t ten = position / 10;
    std::optional<domain_index> home;
    if (ten % 3 != 0) home = domain_index{static_cast<std::uint32_t>(ten % homing::domain_count())};
    return {position, std::min(last, 10 * ten + 10), home};
  }
  [[nodiscard]] std::optional<domain_index> home(const homing::box<1>& part) const {
    const homing::piece p = run_at(part.first[0], part.last[0]);
    return p.last == part.last[0] ? p.home : std::nullopt;
  }
};

/// Of two dimensions; the right half has no home.
struct left_half {
  std::size_t columns;
  [[nodiscard]] std::optional<domain_index> home(const homing::box<2>& part) const {
    if (part.last[1] > columns) return std::nullopt;
    return domain_index{0};
  }
};

template <class Dist>
void expect_each_once(std::size_t first, std::size_t last, Dist&& dist, const std::string& name) {
  visits seen(last + 10);
  homing::parallel_for(
      tbb::blocked_range<std::size_t>(first, last),
      [&](const auto& r) {
        for (std::size_t i = r.begin(); i != r.end(); ++i) seen.note(i);
      },
      dist);
  EXPECT_TRUE(seen.all_once(first, last)) << name << ", " << first << ".." << last;
}

TEST_P(loops, run_on_the_library_that_the_test_is_about) {
  on_machine([] {
    const bool on_stock = std::getenv("HOMING_TEST_STOCK") != nullptr;
    EXPECT_EQ(homing::runtime().is_homing, !on_stock) << homing::runtime().version;
    if (on_stock) {
      EXPECT_EQ(homing::domain_count(), 1U);
      EXPECT_EQ(homing::run_on(5U, [] { return 7; }), 7) << "an address means nothing there";
    }
  });
}

TEST_P(loops, every_iteration_once) {
  on_machine([] {
    for (const std::size_t n : {0UL, 1UL, 2UL, 7UL, 100UL, 1023UL, 20000UL}) {
      for (const std::size_t first : {std::size_t{0}, n / 3}) {
        expect_each_once(first, n, homing::block(n), "block");
        expect_each_once(first, n, homing::cyclic(n), "cyclic");
        expect_each_once(first, n, homing::block_cyclic(n, 16), "block_cyclic");
        expect_each_once(first, n, homing::block(n / 2), "shorter than the range");
        expect_each_once(first, n, by_hundreds{}, "of the user's own");
        expect_each_once(first, n, by_tens{}, "that knows its runs");
        expect_each_once(first, n, tbb::static_partitioner{}, "static_partitioner");
        expect_each_once(first, n, tbb::simple_partitioner{}, "simple_partitioner");
        tbb::affinity_partitioner ap;
        expect_each_once(first, n, ap, "affinity_partitioner");
      }
    }
  });
}

TEST_P(loops, a_domain_that_is_not_there_is_an_error_not_a_loss) {
  on_machine([] {
    if (homing::domain_count() == 1) return;  // nothing is addressed
    const homing::domain_set unknown{domain_index{0}, domain_index{homing::domain_count()}};
    for (const auto& d : {homing::block(10000, unknown), homing::cyclic(10000, unknown)}) {
      EXPECT_DEATH(homing::parallel_for(
                       tbb::blocked_range<std::size_t>(0, 10000), [](const auto&) {}, d),
                   "no such domain");
    }
  });
}

TEST_P(loops, index_form_with_other_integers) {
  on_machine([] {
    visits seen(1000);
    homing::parallel_for(
        0, 1000, [&](int i) { seen.note(static_cast<std::size_t>(i)); }, homing::block(1000));
    EXPECT_TRUE(seen.all_once(0, 1000));
    homing::parallel_for(
        5, 5, [&](int) { ADD_FAILURE() << "an empty range"; }, homing::block(1000));
    homing::parallel_for(
        9, 5, [&](int) { ADD_FAILURE() << "a range from right to left"; }, homing::block(1000));
  });
}

template <class Dist>
void expect_each_cell_once(const Dist& dist) {
  visits seen(60 * 70);
  homing::parallel_for(
      tbb::blocked_range2d<std::size_t>(0, 60, 4, 0, 70, 4),
      [&](const auto& r) {
        for (auto i = r.rows().begin(); i != r.rows().end(); ++i) {
          for (auto k = r.cols().begin(); k != r.cols().end(); ++k) seen.note(i * 70 + k);
        }
      },
      dist);
  EXPECT_TRUE(seen.all_once(0, 60 * 70));
}

struct left_and_right {
  [[nodiscard]] std::optional<domain_index> home(const homing::box<2>& part) const {
    if (part.last[1] <= 33) return domain_index{0};
    if (part.first[1] >= 33) return domain_index{homing::domain_count() - 1};
    return std::nullopt;
  }
};

TEST_P(loops, two_and_three_dimensions) {
  on_machine([] {
    const auto all = homing::domain_set::all();
    expect_each_cell_once(homing::block<2>({60, 70}, all));
    expect_each_cell_once(homing::block_grid<2>({60, 70}, all));
    expect_each_cell_once(homing::block_grid<2>({30, 90}, all));  // not the range's shape
    expect_each_cell_once(left_and_right{});
    expect_each_cell_once(tbb::auto_partitioner{});
    visits seen(8 * 9 * 10);
    homing::parallel_for(
        tbb::blocked_range3d<int>(0, 8, 0, 9, 0, 10),
        [&](const auto& r) {
          for (int p = r.pages().begin(); p != r.pages().end(); ++p) {
            for (int i = r.rows().begin(); i != r.rows().end(); ++i) {
              for (int k = r.cols().begin(); k != r.cols().end(); ++k) {
                seen.note(static_cast<std::size_t>((p * 9 + i) * 10 + k));
              }
            }
          }
        },
        homing::block_grid<3>({8, 9, 10}, all));
    EXPECT_TRUE(seen.all_once(0, 8 * 9 * 10));
  });
}

TEST_P(loops, no_subrange_is_empty_in_two_and_three_dimensions) {
  on_machine([] {
    const auto four = homing::domain_set::first(homing::domain_count());
    for (std::size_t rows = 1; rows < 40; rows += 3) {
      for (const std::size_t columns : {1UL, 2UL, 7UL, 1000UL}) {
        for (const std::size_t grain : {1UL, columns}) {
          visits seen(rows * columns);
          const auto dist = homing::block<2>({rows, columns}, four);
          homing::parallel_for(
              tbb::blocked_range2d<std::size_t>(0, rows, 1, 0, columns, grain),
              [&](const auto& r) {
                EXPECT_FALSE(r.rows().empty() || r.cols().empty()) << rows << ' ' << columns << ' ' << grain;
                for (std::size_t i = r.rows().begin(); i != r.rows().end(); ++i) {
                  for (std::size_t k = r.cols().begin(); k != r.cols().end(); ++k) seen.note(i * columns + k);
                }
              },
              dist);
          EXPECT_TRUE(seen.all_once(0, rows * columns)) << rows << ' ' << columns << ' ' << grain;
        }
      }
    }
  });
}

TEST_P(loops, large_ranges_in_two_dimensions_are_cut_exactly) {
  on_machine([] {
    const std::size_t block = (std::size_t{1} << 25) + 7, rows = 4 * block + 2;  // floats can't count them
    const homing::regular_distribution<2> dist(
        {homing::axis::block_cyclic(rows, homing::domain_count(), block), homing::axis::whole(1)},
        homing::domain_set::first(homing::domain_count()));
    std::atomic<std::size_t> sum{0};
    std::atomic<int> wrong{0};
    homing::parallel_for(
        tbb::blocked_range2d<std::size_t>(0, rows, 0, 1),
        [&](const auto& r) {
          if (r.rows().begin() >= r.rows().end() || r.rows().end() > rows) ++wrong;
          sum += r.rows().end() - r.rows().begin();
        },
        dist);
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(sum.load(), rows);
  });
}

TEST_P(loops, what_has_no_home_in_two_dimensions_stays_in_large_parts) {
  on_machine([] {
    constexpr std::size_t side = 1000;
    const auto calls_of = [](const auto& dist) {
      std::atomic<std::size_t> calls{0};
      std::atomic<std::size_t> points{0};
      homing::parallel_for(
          tbb::blocked_range2d<std::size_t>(0, side, 0, side),
          [&](auto& r) {
            ++calls;
            points += r.rows().size() * r.cols().size();
          },
          dist);
      EXPECT_EQ(points, side * side);
      return calls.load();
    };
    constexpr std::size_t few = side * side / 100;
    const std::vector<float> values(10, 1.0F);
    EXPECT_LT(calls_of(homing::replicated<float>(std::span<const float>(values))), few);
    EXPECT_LT(calls_of(homing::block<2>({side / 2, side / 2}, homing::domain_set::first(homing::domain_count()))), few)
        << "three quarters of the range are beyond the grid";
    EXPECT_LT(calls_of(left_half{side / 2}), few) << "a distribution of the user's own";
  });
}

TEST_P(loops, elements_of_containers) {
  on_machine([] {
    std::vector<std::atomic<int>> seen(5000);
    homing::parallel_for_each(
        seen, [](std::atomic<int>& e) { e.fetch_add(1); }, homing::block_cyclic(5000, 64));
    homing::parallel_for_each(
        seen.begin(), seen.end(), [](std::atomic<int>& e) { e.fetch_add(1); }, homing::block(5000));
    homing::parallel_for_each(
        seen.begin(), seen.begin(), [](std::atomic<int>&) { ADD_FAILURE(); }, homing::block(5000));
    for (const auto& e : seen) ASSERT_EQ(e.load(), 2);
  });
}

TEST_P(loops, an_exception_ends_the_loop_and_is_rethrown) {
  on_machine([] {
    for (std::size_t bad = 0; bad < 4000; bad += 777) {
      const auto body = [&](const tbb::blocked_range<std::size_t>& r) {
        if (r.begin() <= bad && bad < r.end()) throw std::out_of_range("index " + std::to_string(bad));
      };
      const tbb::blocked_range<std::size_t> range(0, 4000);
      EXPECT_THROW(homing::parallel_for(range, body, homing::block(4000)), std::out_of_range);
      EXPECT_THROW(homing::parallel_for(range, body, homing::cyclic(4000)), std::out_of_range);
      EXPECT_THROW(homing::parallel_for(range, body, by_hundreds{}), std::out_of_range);
    }
  });
}

TEST_P(loops, a_cancelled_context_ends_the_loop) {
  on_machine([] {
    tbb::task_group_context context;
    std::atomic<std::size_t> ran{0};
    homing::parallel_for(
        tbb::blocked_range<std::size_t>(0, 1000000, 1),
        [&](const auto& r) {
          ran.fetch_add(r.size());
          EXPECT_EQ(tbb::task::current_context(), &context);
          context.cancel_group_execution();
        },
        homing::block_cyclic(1000000, 10000), context);
    EXPECT_TRUE(context.is_group_execution_cancelled());
    EXPECT_GE(ran.load(), 1U);
    if (homing::domain_count() > 1) {  // else it is oneTBB's, in one piece a thread: all may have begun
      EXPECT_LT(ran.load(), 1000000U);
    }
  });
}

TEST_P(loops, nested_ones_with_other_distributions) {
  on_machine([] {
    std::atomic<std::size_t> sum{0};
    homing::parallel_for(
        0, 40,
        [&](int) {
          homing::parallel_for(
              0, 500, [&](int i) { sum.fetch_add(static_cast<std::size_t>(i)); }, homing::cyclic(500));
        },
        homing::block(40));
    EXPECT_EQ(sum.load(), 40U * 499 * 250);
  });
}

// ---- reductions and scans

/// Joined in order, or not at all: what is joined is text.
template <class Dist>
void expect_in_order(const Dist& dist) {
  const auto append = [](const auto& r, std::string s) {
    for (std::size_t i = r.begin(); i != r.end(); ++i) s += static_cast<char>('a' + i % 26);
    return s;
  };
  const auto join = [](const std::string& a, const std::string& b) { return a + b; };
  const tbb::blocked_range<std::size_t> range(3, 3000);
  const std::string expected = append(range, "");
  EXPECT_EQ(homing::parallel_reduce(range, std::string(), append, join, dist), expected);
  EXPECT_EQ(homing::parallel_deterministic_reduce(tbb::blocked_range<std::size_t>(3, 3000, 10), std::string(), append,
                                                  join, dist),
            expected);
}

TEST_P(loops, reductions_keep_the_order) {
  on_machine([] {
    expect_in_order(homing::block(3000));
    expect_in_order(homing::block_cyclic(3000, 50));
    expect_in_order(homing::block(1000));
    expect_in_order(by_hundreds{});
    EXPECT_EQ(homing::parallel_reduce(
                  tbb::blocked_range<int>(0, 0), 42, [](const auto&, int) { return 1; },
                  [](int a, int b) { return a + b; }, homing::block(1)),
              42);
    EXPECT_THROW(static_cast<void>(homing::parallel_reduce(
                     tbb::blocked_range<int>(0, 100), 0, [](const auto&, int) -> int { throw std::logic_error("x"); },
                     [](int a, int b) { return a + b; }, homing::block(100))),
                 std::logic_error);
  });
}

TEST_P(loops, deterministic_sums_are_the_same_bit_by_bit) {
  on_machine([] {
    const auto sum = [](std::size_t threads) {
      const parallelism fewer(parallelism::max_allowed_parallelism, threads);
      return homing::parallel_deterministic_reduce(
          tbb::blocked_range<std::size_t>(0, 50000, 100), 0.0,
          [](const auto& r, double s) {
            for (std::size_t i = r.begin(); i != r.end(); ++i) s += 1 / (1 + std::sqrt(static_cast<double>(i)));
            return s;
          },
          [](double a, double b) { return a + b; }, homing::block(50000));
    };
    const double first = sum(1);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(sum(1 + static_cast<std::size_t>(i) % GetParam().threads), first);
  });
}

TEST_P(loops, scans_give_prefix_sums) {
  on_machine([] {
    for (const std::size_t n : {1UL, 2UL, 100UL, 5000UL}) {
      std::vector<std::uint64_t> in(n);
      std::iota(in.begin(), in.end(), 7);
      std::vector<std::uint64_t> expected(n);
      std::partial_sum(in.begin(), in.end(), expected.begin());
      std::vector<std::uint64_t> out(n);
      const auto scan = [&](const auto& r, std::uint64_t before, bool is_final) {
        for (std::size_t i = r.begin(); i != r.end(); ++i) {
          before += in[i];
          if (is_final) out[i] = before;
        }
        return before;
      };
      const auto join = [](std::uint64_t a, std::uint64_t b) { return a + b; };
      const tbb::blocked_range<std::size_t> range(0, n);
      const auto check = [&](const auto& how) {
        std::fill(out.begin(), out.end(), 0);
        EXPECT_EQ(homing::parallel_scan(range, std::uint64_t{0}, scan, join, how), expected.back());
        EXPECT_EQ(out, expected);
      };
      check(homing::block(n));
      check(homing::block_cyclic(n, 33));
      check(by_hundreds{});
      check(tbb::auto_partitioner{});
      check(tbb::simple_partitioner{});
      tbb::affinity_partitioner ap;
      for (const bool use_homes : {true, false}) {
        check(use_homes ? homing::schedule(homing::block(n)) : ap);
        check(use_homes ? homing::schedule(homing::cyclic(n)) : tbb::simple_partitioner{});
        check(use_homes ? homing::schedule(by_hundreds{}) : tbb::static_partitioner{});
      }
    }
  });
}

/// As std::ranges::max does: a reference to one of what it is given.
TEST_P(loops, a_scans_join_may_return_a_reference) {
  on_machine([] {
    constexpr std::size_t n = 64;
    std::vector<std::string> in;
    for (std::size_t i = 0; i < n; ++i) in.emplace_back(40, static_cast<char>('a' + i * 7 % 26));
    std::vector<std::string> out(n);
    const auto scan = [&](const auto& r, std::string so_far, bool is_final) {
      for (std::size_t i = r.begin(); i != r.end(); ++i) {
        so_far = std::max(so_far, in[i]);
        if (is_final) out[i] = so_far;
      }
      return so_far;
    };
    const tbb::blocked_range<std::size_t> range(0, n);
    EXPECT_EQ(homing::parallel_scan(range, std::string(), scan, std::ranges::max, homing::block(n)),
              std::ranges::max(in));
    std::string so_far;
    for (std::size_t i = 0; i < n; ++i) {
      so_far = std::max(so_far, in[i]);
      EXPECT_EQ(out[i], so_far) << i;
    }
  });
}

}  // namespace
