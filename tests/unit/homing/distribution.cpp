// Every distribution agrees with its definition, element by element, for all small sizes, part counts, blocks and
// weights; extremes neither overflow nor loop. The oracles deal elements out one at a time.
#include <homing/distribution.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "topology/snapshot.hpp"
#include "unit/common/topology_fixture.hpp"

namespace {

using namespace homing;
using figures = std::vector<double>;
using homes = std::vector<std::uint32_t>;

domain_index domain(std::uint32_t i) { return static_cast<domain_index>(i); }
constexpr std::size_t size_max = std::numeric_limits<std::size_t>::max();

// --- constants ---------------------------------------------------------------------------------

constexpr auto four_blocks = block(10, domain_set::first(4));
static_assert(four_blocks.home_of(2) == domain_index{0} && four_blocks.home_of(3) == domain_index{1});
static_assert(four_blocks.home(interval(3, 6)) == domain_index{1} && !four_blocks.home(interval(3, 7)));
static_assert(four_blocks.size_of(domain_index{3}) == 2);
constexpr auto six_tiles = block_grid<2>({8, 8}, domain_set::first(6));
static_assert(six_tiles.along(0).parts() == 3 && six_tiles.along(1).parts() == 2);
constexpr auto eight_cubes = block_grid<3>({8, 8, 8}, domain_set::first(8));
static_assert(eight_cubes.along(0).parts() == 2 && eight_cubes.along(2).parts() == 2);
constexpr auto seven_strips = block_grid<2>({8, 8}, domain_set::first(7));
static_assert(seven_strips.along(0).parts() == 7 && seven_strips.along(1).parts() == 1);
constexpr auto three_by_turns = cyclic(7, domain_set::first(3));
static_assert(three_by_turns.home_of(5) == domain_index{2});
static_assert(sizeof(regular_distribution<1>) <= 96, "cheap to copy");

// --- oracles: the part of each index, dealt one at a time ------------------------------------------

homes by_units(std::size_t extent, std::size_t grain, const std::function<std::uint32_t(std::size_t)>& part_of_unit) {
  homes result;
  for (std::size_t i = 0; i < extent; ++i) result.push_back(part_of_unit(i / grain));
  return result;
}

// Hamilton's method in whole numbers.
std::vector<std::size_t> shares(std::size_t total, const figures& w) {
  const auto sum = static_cast<std::size_t>(std::accumulate(w.begin(), w.end(), 0.0));
  std::vector<std::size_t> result;
  std::vector<std::size_t> rest;
  std::size_t left = total;
  for (const double figure : w) {
    const auto whole = static_cast<std::size_t>(figure);
    result.push_back(total * whole / sum);
    rest.push_back(total * whole % sum);
    left -= result.back();
  }
  for (; left > 0; --left) {
    std::size_t best = 0;
    for (std::size_t p = 1; p < rest.size(); ++p) best = rest[p] > rest[best] ? p : best;
    ++result[best];
    rest[best] = 0;
  }
  return result;
}

homes block_oracle(std::size_t extent, const figures& w, std::size_t grain) {
  const std::size_t units = (extent + grain - 1) / grain;
  homes part_of_unit;
  const auto each = shares(units, w);
  for (std::uint32_t p = 0; p < each.size(); ++p) part_of_unit.insert(part_of_unit.end(), each[p], p);
  return by_units(extent, grain, [&](std::size_t u) { return part_of_unit[u]; });
}

// One unit after another to the part that is owed most: after t units of a round, w_p t / sum minus what it got.
homes cyclic_oracle(std::size_t extent, const figures& w, std::size_t grain) {
  const double sum = std::accumulate(w.begin(), w.end(), 0.0);
  homes part_of_unit;
  figures got(w.size(), 0.0);
  for (std::size_t u = 0; u * grain < extent; ++u) {
    std::uint32_t best = 0;
    const auto owed = [&](std::uint32_t p) { return w[p] * static_cast<double>(u + 1) - got[p] * sum; };
    for (std::uint32_t p = 1; p < w.size(); ++p) best = owed(p) > owed(best) ? p : best;
    got[best] += 1;
    part_of_unit.push_back(best);
  }
  return by_units(extent, grain, [&](std::size_t u) { return part_of_unit[u]; });
}

// --- the comparison --------------------------------------------------------------------------------

// All that a one-dimensional distribution says, against the list of homes.
void expect_agrees(const regular_distribution<1>& d, const homes& expected, const std::string& what) {
  SCOPED_TRACE(what);
  const std::size_t n = expected.size();
  ASSERT_EQ(d.size(), n);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(d.home_of(i), d.domains()[expected[i]]) << i;
  for (std::uint32_t p = 0; p < d.domains().size(); ++p) {
    ASSERT_EQ(d.size_of(d.domains()[p]), static_cast<std::size_t>(std::count(expected.begin(), expected.end(), p)));
  }
  for (std::size_t first = 0; first <= n; ++first) {
    for (std::size_t last = 0; last <= n + 1; ++last) {
      std::optional<domain_index> one;
      if (first < last && last <= n &&
          std::all_of(&expected[first], &expected[0] + last, [&](auto p) { return p == expected[first]; })) {
        one = d.domains()[expected[first]];
      }
      ASSERT_EQ(d.home(interval(first, last)), one) << first << ".." << last;
    }
  }
  for (std::size_t first = 0; first < n; ++first) {  // pieces of every range: they touch, differ, and tell the truth
    std::size_t at = first;
    std::optional<domain_index> before;
    for_each_piece(d, first, n, [&](const piece& p) {
      ASSERT_EQ(p.first, at);
      ASSERT_LT(p.first, p.last);
      ASSERT_NE(p.home, before);
      for (std::size_t i = p.first; i < p.last; ++i) ASSERT_EQ(p.home, d.domains()[expected[i]]);
      at = p.last;
      before = p.home;
    });
    ASSERT_EQ(at, n);
  }
  for (std::uint32_t p = 0; p < d.domains().size(); ++p) {
    std::size_t count = 0;
    d.for_each_box(d.domains()[p], [&](const box<1>& b) {
      for (std::size_t i = b.first[0]; i < b.last[0]; ++i) ASSERT_EQ(expected[i], p);
      count += b.last[0] - b.first[0];
    });
    ASSERT_EQ(count, d.size_of(d.domains()[p]));
  }
}

std::string told(const char* rule, std::size_t n, std::size_t parts, std::size_t grain) {
  return std::string(rule) + " of " + std::to_string(n) + " over " + std::to_string(parts) + ", grain " +
         std::to_string(grain);
}

TEST(distribution, equal_shares_agree_with_the_definition) {
  for (std::size_t n = 0; n <= 20; ++n) {
    for (std::uint32_t parts = 1; parts <= 6; ++parts) {
      const domain_set over = domain_set::first(parts);
      const figures equal(parts, 1.0);
      for (const std::size_t grain : {1, 2, 3, 7, 30}) {
        expect_agrees(block(n, over, grain), block_oracle(n, equal, grain), told("block", n, parts, grain));
        expect_agrees(block_cyclic(n, grain, over), cyclic_oracle(n, equal, grain), told("cyclic", n, parts, grain));
      }
      expect_agrees(cyclic(n, over), cyclic_oracle(n, equal, 1), told("cyclic", n, parts, 1));
    }
  }
}

TEST(distribution, weighted_shares_agree_with_the_definition) {
  const std::vector<figures> lists = {{1},       {3},          {1, 1},       {2, 1},    {0, 1},    {1, 0},
                                      {4, 2, 1}, {0, 5, 0, 2}, {1, 1, 1, 7}, {6, 4, 2}, {3, 0, 3}, {0, 0, 1}};
  for (const figures& w : lists) {
    const auto parts = static_cast<std::uint32_t>(w.size());
    const domain_set over = domain_set::first(parts);
    for (std::size_t n = 0; n <= 24; ++n) {
      for (const std::size_t grain : {1, 2, 5}) {
        expect_agrees(block(n, over, weights(w), grain), block_oracle(n, w, grain), told("block", n, parts, grain));
        expect_agrees(block_cyclic(n, grain, over, weights(w)), cyclic_oracle(n, w, grain),
                      told("cyclic", n, parts, grain));
      }
      expect_agrees(cyclic(n, over, weights(w)), cyclic_oracle(n, w, 1), told("cyclic", n, parts, 1));
    }
  }
}

TEST(distribution, a_named_set_deals_to_its_members_in_its_order) {
  const domain_set over{domain(5), domain(2), domain(9)};
  const auto d = block(9, over);
  EXPECT_EQ(d.home_of(0), domain(5));
  EXPECT_EQ(d.home_of(4), domain(2));
  EXPECT_EQ(d.home_of(8), domain(9));
  EXPECT_EQ(d.size_of(domain(2)), 3U);
  EXPECT_EQ(d.size_of(domain(0)), 0U);
  EXPECT_EQ(over.find(domain(9)), 2U);
  EXPECT_FALSE(over.find(domain(0)));
  expect_agrees(d, block_oracle(9, {1, 1, 1}, 1), "named");
}

TEST(distribution, copies_share_and_outlive_the_original) {
  std::optional<regular_distribution<1>> copy;
  {
    const auto d = cyclic(12, domain_set{domain(3), domain(1)}, weights{2, 1});
    copy = d;
    auto moved = std::move(copy);
    copy = std::move(moved);
  }
  expect_agrees(*copy, cyclic_oracle(12, {2, 1}, 1), "copy");
}

// --- several dimensions ------------------------------------------------------------------------------

template <std::size_t Dims>
void for_each_point(const point<Dims>& extents, const std::function<void(const point<Dims>&, std::size_t)>& f) {
  std::size_t total = 1;
  for (const std::size_t e : extents) total *= e;
  for (std::size_t position = 0; position < total; ++position) {
    point<Dims> at{};
    std::size_t rest = position;
    for (std::size_t k = Dims; k-- > 0;) {
      at[k] = rest % extents[k];
      rest /= extents[k];
    }
    f(at, position);
  }
}

// Against the product of one-dimensional answers, which are tested above.
template <std::size_t Dims>
void expect_product(const std::array<axis, Dims>& axes, const std::string& what) {
  SCOPED_TRACE(what);
  std::uint32_t cells = 1;
  point<Dims> extents{};
  for (std::size_t k = 0; k < Dims; ++k) {
    cells *= axes[k].parts();
    extents[k] = axes[k].extent();
  }
  const regular_distribution<Dims> d(axes, domain_set::first(cells));
  homes expected;
  for_each_point<Dims>(extents, [&](const point<Dims>& at, std::size_t) {
    std::uint32_t cell = 0;
    for (std::size_t k = 0; k < Dims; ++k) cell = cell * axes[k].parts() + axes[k].part_of(at[k]);
    expected.push_back(cell);
    ASSERT_EQ(d.home_of(at), domain(cell));
  });
  ASSERT_EQ(d.size(), expected.size());
  for (std::uint32_t c = 0; c < cells; ++c) {
    std::vector<int> seen(expected.size(), 0);
    d.for_each_box(domain(c), [&](const box<Dims>& b) {
      ASSERT_FALSE(b.empty());
      ASSERT_EQ(d.home(b), domain(c));
      for_each_point<Dims>(extents, [&](const point<Dims>& at, std::size_t position) {
        bool inside = true;
        for (std::size_t k = 0; k < Dims; ++k) inside = inside && b.first[k] <= at[k] && at[k] < b.last[k];
        seen[position] += inside;
      });
    });
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(seen[i], expected[i] == c) << "once each, its own";
    ASSERT_EQ(d.size_of(domain(c)), static_cast<std::size_t>(std::count(expected.begin(), expected.end(), c)));
  }
  for (std::size_t first = 0; first < expected.size(); first += 3) {
    std::size_t at = first;
    std::optional<domain_index> before;
    for_each_piece(d, first, expected.size(), [&](const piece& p) {
      ASSERT_EQ(p.first, at);
      ASSERT_NE(p.home, before);
      for (std::size_t i = p.first; i < p.last; ++i) ASSERT_EQ(p.home, domain(expected[i]));
      at = p.last;
      before = p.home;
    });
    ASSERT_EQ(at, expected.size());
  }
  // The same through nothing but home(), along memory: what a user's own distribution gets.
  const row_major<Dims, regular_distribution<Dims>> along(d, extents);
  for (std::size_t first = 0; first < expected.size(); ++first) {
    for (std::size_t last = first + 1; last <= expected.size(); ++last) {
      const bool one = std::all_of(&expected[first], &expected[0] + last, [&](auto c) { return c == expected[first]; });
      ASSERT_EQ(along.home(interval(first, last)), one ? std::optional(domain(expected[first])) : std::nullopt);
    }
  }
}

TEST(distribution, grids_agree_with_the_product_of_their_axes) {
  const auto axes_of = [](std::size_t extent) {
    return std::vector<axis>{axis::whole(extent), axis::block(extent, 2), axis::block_cyclic(extent, 3, 2),
                             axis::cyclic(extent, 2), axis::block(extent, weights{1, 0, 2})};
  };
  for (const std::size_t rows : {1, 4, 7}) {
    for (const std::size_t columns : {1, 5, 6}) {
      for (const axis& a : axes_of(rows)) {
        for (const axis& b : axes_of(columns)) {
          expect_product<2>({a, b}, std::to_string(rows) + " x " + std::to_string(columns));
          expect_product<3>({axis::whole(2), b, a}, "2 x columns x rows");
          expect_product<3>({a, axis::cyclic(2, 2), b}, "rows x 2 x columns");
        }
      }
    }
  }
}

TEST(distribution, blocks_of_rows_are_one_piece_a_domain) {
  const auto d = block<2>({10, 7}, domain_set::first(3));
  std::vector<piece> pieces;
  for_each_piece(d, 0, d.size(), [&](const piece& p) { pieces.push_back(p); });
  EXPECT_EQ(pieces, (std::vector<piece>{{0, 28, domain(0)}, {28, 49, domain(1)}, {49, 70, domain(2)}}));
  std::vector<piece> of_one;
  for_each_piece_of(d, domain(1), 0, d.size(), [&](const piece& p) { of_one.push_back(p); });
  EXPECT_EQ(of_one, (std::vector<piece>{pieces[1]}));
}

// --- a user's own --------------------------------------------------------------------------------------

struct chunks_of_five {  // every third chunk has no home; only chunks are ever answered whole
  mutable std::size_t questions = 0;
  [[nodiscard]] std::optional<domain_index> home(const box<1>& part) const {
    ++questions;
    const std::size_t chunk = part.first[0] / 5;
    if (chunk != (part.last[0] - 1) / 5 || chunk % 3 == 2) return std::nullopt;
    return domain(static_cast<std::uint32_t>(chunk % 2));
  }
};
static_assert(distribution_over<chunks_of_five, 1> && !distribution_over<chunks_of_five, 2>);
static_assert(!enumerable_distribution<chunks_of_five> && enumerable_distribution<regular_distribution<3>>);
static_assert(distribution_over<regular_distribution<3>, 3> && !distribution_over<regular_distribution<3>, 1>);

TEST(users_distribution, its_pieces_are_found_by_asking) {
  for (std::size_t n = 1; n < 40; ++n) {
    for (std::size_t first = 0; first < n; ++first) {
      std::size_t at = first;
      std::optional<std::optional<domain_index>> before;
      for_each_piece(chunks_of_five{}, first, n, [&](const piece& p) {
        ASSERT_EQ(p.first, at);
        ASSERT_TRUE(!before || p.home != *before);
        for (std::size_t i = p.first; i < p.last; ++i) {
          ASSERT_EQ(p.home, chunks_of_five{}.home(interval(i, i + 1))) << i;
        }
        at = p.last;
        before = p.home;
      });
      ASSERT_EQ(at, n);
    }
  }
}

TEST(users_distribution, long_runs_take_few_questions) {
  struct halves {
    mutable std::size_t questions = 0;
    std::optional<domain_index> home(const box<1>& part) const {
      ++questions;
      const std::size_t middle = size_max / 2;
      if (part.last[0] <= middle) return domain(0);
      return part.first[0] >= middle ? std::optional(domain(1)) : std::nullopt;
    }
  } const d;
  std::vector<piece> pieces;
  for_each_piece(d, 0, size_max, [&](const piece& p) { pieces.push_back(p); });
  EXPECT_EQ(pieces, (std::vector<piece>{{0, size_max / 2, domain(0)}, {size_max / 2, size_max, domain(1)}}));
  EXPECT_LT(d.questions, 300U);
}

// --- extremes ----------------------------------------------------------------------------------------

TEST(distribution, the_largest_spaces_do_not_overflow) {
  for (const std::uint32_t parts : {1U, 3U, 1024U, 4294967295U}) {
    const domain_set over = domain_set::first(parts);
    for (const std::size_t grain : {std::size_t{1}, std::size_t{4096}, size_max / 2, size_max}) {
      for (const auto& d : {block(size_max, over, grain), block_cyclic(size_max, grain, over)}) {
        ASSERT_TRUE(d.home(interval(size_max - 1, size_max)));
        const piece last = d.run_at(size_max - 1, size_max);
        ASSERT_EQ(last.last, size_max);
        const piece first = d.run_at(0, size_max);
        ASSERT_GT(first.last, 0U);
        if (parts <= 1024) {
          std::size_t sum = 0;
          for (std::uint32_t p = 0; p < parts; ++p) {
            ASSERT_LE(d.size_of(domain(p)), size_max - sum);
            sum += d.size_of(domain(p));
          }
          ASSERT_EQ(sum, size_max);
        }
      }
    }
  }
  const auto heavy = block(size_max, domain_set::first(3), weights{4294967296.0, 4294967296.0, 1.0});
  std::size_t sum = 0;
  for (std::uint32_t p = 0; p < 3; ++p) sum += heavy.size_of(domain(p));
  EXPECT_EQ(sum, size_max);
  EXPECT_EQ(heavy.home_of(0), domain(0));
  EXPECT_EQ(heavy.home_of(size_max - 1), domain(2));
}

TEST(distribution, cyclic_over_one_part_or_one_weight_is_one_run) {
  EXPECT_EQ(cyclic(size_max, domain_set::first(1)).run_at(0, size_max).last, size_max);
  EXPECT_EQ(cyclic(size_max, domain_set::first(3), weights{0, 1, 0}).run_at(5, size_max),
            (piece{5, size_max, domain(1)}));
}

TEST(distribution, weighted_cyclic_runs_end_with_the_largest_space) {
  const auto d = cyclic(size_max, domain_set::first(2), weights{2, 1});
  EXPECT_EQ(d.run_at(size_max - 1, size_max).last, size_max);
}

TEST(distribution, an_empty_space_has_no_homes) {
  const auto d = block_grid<3>({size_max, 0, size_max}, domain_set::first(4));
  EXPECT_EQ(d.size(), 0U);
  EXPECT_EQ(d.size_of(domain(0)), 0U);
  EXPECT_FALSE(d.home({{0, 0, 0}, {1, 1, 1}}));
  d.for_each_box(domain(0), [](const box<3>&) { FAIL(); });
  for_each_piece(d, 0, 0, [](const piece&) { FAIL(); });
}

TEST(weights, any_figures_come_within_one_in_2_to_the_32) {
  const weights w{115.0, 33.3, 0.0, 1e-300};
  const auto v = w.values();
  ASSERT_EQ(v.size(), 4U);
  EXPECT_NEAR(static_cast<double>(v[0]) / static_cast<double>(v[1]), 115.0 / 33.3, 1e-8);
  EXPECT_EQ(v[2], 0U);
  EXPECT_EQ(v[3], 1U) << "above zero stays above zero";
  const weights large{1e300, 5e299};
  EXPECT_EQ(large.values()[0], 2 * large.values()[1]);
  const weights small{5e-324, 5e-324};
  EXPECT_EQ(small.values()[0], small.values()[1]);
  const weights whole{3, 7};
  EXPECT_EQ(whole.values()[0], 3U);
  EXPECT_EQ(whole.values()[1], 7U);
}

TEST(weights, measured_figures_deal_in_proportion) {
  const auto d = cyclic(1000000, domain_set::first(2), weights{115.2, 33.7});
  EXPECT_NEAR(static_cast<double>(d.size_of(domain(0))) / 1e6, 115.2 / (115.2 + 33.7), 1.0 / 4096);
}

TEST(weights, come_from_the_machine) {
  using topology::testing::fixture_path;
  const auto read = [](const char* name) {
    return topology::make_snapshot(topology::testing::read_or_fail(
        {.from = topology::source::origin::xml, .text = fixture_path(name), .wanted = topology::source::figures::all}));
  };
  const weights w = weights::by_cpus(read("unequal"), domain_set{domain(2), domain(0)});
  EXPECT_EQ((std::vector<std::uint64_t>(w.values().begin(), w.values().end())), (std::vector<std::uint64_t>{1, 4}));
  const auto reported = weights::by_reported_bandwidth(read("memory_tier"), domain_set::first(2));
  ASSERT_TRUE(reported);
  EXPECT_EQ(reported->values()[0], 2 * reported->values()[1]);
  EXPECT_FALSE(weights::by_reported_bandwidth(read("unequal"), domain_set::first(2)));
}

TEST(distribution, all_domains_are_the_current_machines) {
  topology::set_current(topology::make_snapshot(topology::testing::synthetic("node:3 core:2 pu:1")));
  EXPECT_EQ(block(9).domains().size(), 3U);
  EXPECT_EQ(cyclic(9).home_of(5), domain(2));
  EXPECT_EQ(block_cyclic(9, 2).home_of(2), domain(1));
  topology::refresh();
}

TEST(distribution, wrong_arguments_are_the_programmers) {
  EXPECT_DEATH(weights({1, -1}), "homing: weights: a weight is negative");
  EXPECT_DEATH(weights({0, 0}), "no weight is above zero");
  EXPECT_DEATH(weights({std::numeric_limits<double>::quiet_NaN()}), "not a number");
  EXPECT_DEATH(weights({std::numeric_limits<double>::infinity()}), "infinite");
  EXPECT_DEATH(weights(std::span<const double>()), "no weight");
  EXPECT_DEATH((domain_set{domain(1), domain(1)}), "homing: domain_set: a domain is named twice");
  EXPECT_DEATH(domain_set(std::span<const domain_index>()), "no domain given");
  EXPECT_DEATH(static_cast<void>(domain_set::first(0)), "no domain given");
  EXPECT_DEATH(static_cast<void>(block(5, domain_set::first(2), 0)), "a grain or block of 0");
  EXPECT_DEATH(static_cast<void>(block(5, domain_set::first(2), weights{1})), "parts of the axes multiply");
  EXPECT_DEATH(static_cast<void>(block<2>({size_max, 2}, domain_set::first(2))), "more than SIZE_MAX points");
  EXPECT_DEATH(regular_distribution<2>({axis::block(5, 2), axis::block(5, 2)}, domain_set::first(3)), "multiply");
}

#ifndef NDEBUG
TEST(distribution, debug_builds_check_indices) {
  for (const axis& a : {axis::block(10, 2), axis::cyclic(10, 2), axis::whole(10)}) {
    EXPECT_DEATH(static_cast<void>(a.part_of(10)), "i < extent_");
    EXPECT_DEATH(static_cast<void>(a.run_end(10)), "i < extent_");
  }
  EXPECT_DEATH(static_cast<void>(axis::block(0, 2).part_of(0)), "i < extent_");
  EXPECT_DEATH(static_cast<void>(axis::block(0, 2).run_end(0)), "i < extent_");
}
#endif

}  // namespace
