// Where pages are, on a kernel that balances them and hides those it watches, as Linux 6.1 does: found where its counts
// leave no choice, "unknown" where they do, and never "not there".
#include "memory/page_locations.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "unit/common/fake_kernel.hpp"

namespace {

using namespace homing;
using homing::testing::fake_kernel;
using memory::page_locations;
using ints = std::vector<int>;

constexpr int untouched = page_locations::untouched, unknown = page_locations::unknown;

struct balancing_kernel : fake_kernel {
  explicit balancing_kernel(std::size_t count) : fake_kernel(count) { balancing = true; }
  void watch(std::size_t from, std::size_t to) {
    for (std::size_t p = from; p < to; ++p) pages[p].watched = true;
  }
  [[nodiscard]] ints where(std::size_t from, std::size_t to) {
    const platform::address_range range{first + from * page, first + to * page};
    const ints owner(to - from, 0);
    return memory::locate(*this, range, mappings(range), owner).node;
  }
};

TEST(page_locations, watched_pages_of_one_node_are_found) {
  balancing_kernel k(8);
  k.touch(0, 6, 2);
  k.watch(1, 4);
  EXPECT_EQ(k.where(0, 8), (ints{2, 2, 2, 2, 2, 2, untouched, untouched}));
}

TEST(page_locations, zero_pages_stay_nowhere) {
  balancing_kernel k(6);
  k.touch(0, 2, 1);
  k.pages[4].zero_page = true;
  EXPECT_EQ(k.where(0, 6), (ints{1, 1, untouched, untouched, untouched, untouched}));
  k.watch(0, 1);  // one of two that have contents is there: which, nobody tells
  EXPECT_EQ(k.where(0, 6), (ints{unknown, 1, untouched, untouched, unknown, untouched}));
}

TEST(page_locations, watched_pages_of_several_nodes_are_unknown) {
  balancing_kernel k(4);
  k.touch(0, 2, 0);
  k.touch(2, 4, 3);
  k.watch(1, 3);
  EXPECT_EQ(k.where(0, 4), (ints{0, unknown, unknown, 3}));
}

TEST(page_locations, a_part_of_a_mapping_is_counted_by_itself) {
  balancing_kernel k(8);
  k.touch(0, 4, 0);
  k.touch(4, 8, 3);
  k.watch(0, 8);
  EXPECT_EQ(k.where(4, 8), (ints{3, 3, 3, 3}));
  for (const auto& p : k.pages) EXPECT_FALSE(p.marked);
  k.kind.may_mark = false;
  EXPECT_EQ(k.where(4, 8), (ints{unknown, unknown, unknown, unknown}));
}

TEST(page_locations, pages_that_are_bound_are_found_by_their_mappings) {
  balancing_kernel k(8);
  for (int n = 0; n < 4; ++n) {
    const auto at = static_cast<std::size_t>(2 * n);
    EXPECT_EQ(k.set_policy({k.first + at * k.page, k.first + (at + 2) * k.page}, platform::policy_mode::preferred,
                           platform::node_set{node_id{n}}, platform::existing_pages::leave),
              0);
  }
  k.touch(0, 8, 0);
  k.watch(0, 8);
  EXPECT_EQ(k.where(0, 8), (ints{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(page_locations, watched_pages_are_counted_among_all_of_a_fresh_mapping) {
  balancing_kernel k(4);
  k.touch(0, 4, 3);
  k.watch(1, 3);
  const platform::address_range all{k.first, k.first + 4 * k.page};
  const auto are_all_on = [&](int node) { return memory::all_on(k, all, platform::node_set{node_id{node}}); };
  EXPECT_EQ(are_all_on(3), std::optional(true));
  EXPECT_EQ(are_all_on(2), std::optional(false));
  for (const auto& p : k.pages) EXPECT_FALSE(p.marked);
}

TEST(page_locations, without_balancing_nothing_more_is_asked) {
  balancing_kernel k(2);
  k.balancing = false;
  k.touch(0, 2, 1);
  k.watch(0, 1);
  EXPECT_EQ(k.where(0, 2), (ints{untouched, 1}));
}

TEST(page_locations, without_the_list_of_mappings_the_query_decides) {
  balancing_kernel k(5);
  k.balancing = false;
  k.mappings_errno = EMFILE;
  k.touch(0, 3, 1);
  k.pages[2].unmapped = true;
  EXPECT_EQ(k.where(0, 5), (ints{1, 1, unknown, untouched, untouched}));
  k.balancing = true;
  k.watch(0, 1);
  EXPECT_EQ(k.where(0, 5), (ints{unknown, 1, unknown, unknown, unknown})) << "which are watched, nobody tells";
  k.move_errno = EPERM;
  EXPECT_EQ(k.where(0, 5), ints(5, unknown));
}

}  // namespace
