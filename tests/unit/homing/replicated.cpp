// Replicated data: as many copies as memory nodes need, each read by the domains nearest to it, all equal after
// refresh().
#include <homing/replicated.hpp>

#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "unit/common/placement_fixture.hpp"

namespace {

using namespace homing;

struct machine_for_a_while {
  explicit machine_for_a_while(std::shared_ptr<const topology::machine> m) {
    topology::set_current(topology::make_snapshot(std::move(m)));
  }
  ~machine_for_a_while() { topology::refresh(); }
};
domain_index domain(unsigned i) { return static_cast<domain_index>(i); }

std::vector<int> numbers(std::size_t count) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), 3);
  return result;
}
bool same(std::span<const int> a, std::span<const int> b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

static_assert(distribution_over<replicated<int>, 1> && distribution_over<replicated<int>, 3>);

TEST(replicated, has_a_copy_a_domain_on_its_node) {
  const machine_for_a_while four(topology::testing::synthetic("node:4 core:2 pu:1"));
  const std::vector<int> values = numbers(5000);
  replicated<int> r{std::span<const int>(values)};
  EXPECT_EQ(r.size(), 5000U);
  EXPECT_EQ(r.copy_count(), 3U);
  EXPECT_TRUE(r.report().is_virtual && r.report().complete());
  EXPECT_EQ(r.report().asked, 4 * 5U);
  std::set<const int*> places;
  for (unsigned d = 0; d < 4; ++d) {
    EXPECT_TRUE(same(r.at(domain(d)), values));
    places.insert(r.at(domain(d)).data());
    const page_census census = where(memory_range(r.at(domain(d))));
    EXPECT_EQ(census.on(node_id{static_cast<int>(d)}), census.pages);
  }
  EXPECT_EQ(places.size(), 4U);
  EXPECT_EQ(r.local().data(), r.at(topology::current_domain()).data());
  EXPECT_FALSE(r.home(interval(0, 1)));
}

TEST(replicated, copies_follow_on_refresh) {
  const machine_for_a_while two(topology::testing::synthetic("node:2 core:1 pu:1"));
  const std::vector<int> values = numbers(100);
  replicated<int> r{std::span<const int>(values)};
  r.edit([](std::span<int> original) { original[7] = -1; });
  EXPECT_EQ(r.at(domain(1))[7], 10) << "not yet";
  r.refresh();
  EXPECT_EQ(r.at(domain(0))[7], -1);
  EXPECT_EQ(r.at(domain(1))[7], -1);
  replicated<int> moved = std::move(r);
  EXPECT_EQ(moved.at(domain(1))[7], -1);
}

TEST(replicated, domains_without_a_copy_read_the_nearest) {
  const machine_for_a_while unequal(topology::testing::fixture("unequal"));
  const std::vector<int> values = numbers(10);
  const replicated<int> r(values, domain_set{domain(0), domain(2)});
  EXPECT_EQ(r.copy_count(), 1U);
  EXPECT_EQ(r.at(domain(1)).data(), r.at(domain(0)).data()) << "31 to node 0, 255 to node 5";
  EXPECT_NE(r.at(domain(2)).data(), r.at(domain(0)).data());
}

TEST(replicated, domains_that_share_memory_share_a_copy) {
  const machine_for_a_while less(topology::testing::fixture("memory_less"));
  const replicated<int> r{std::span<const int>(numbers(10))};
  EXPECT_EQ(r.copy_count(), 1U);
  EXPECT_EQ(r.at(domain(1)).data(), r.at(domain(2)).data());
}

TEST(replicated, values_larger_than_a_page_are_aligned) {
  constexpr std::size_t huge = std::size_t{1} << 21;
  struct alignas(huge) large {
    char bytes[huge];
  };
  const machine_for_a_while two(topology::testing::synthetic("node:2 core:1 pu:1"));
  const std::unique_ptr<large> one(new large{});
  const replicated<large> r{std::span<const large>(one.get(), 1)};
  for (unsigned d = 0; d < 2; ++d) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(r.at(domain(d)).data()) % alignof(large), 0U);
  }
}

TEST(replicated, one_node_reads_the_master) {
  if (topology::current().memory_node_count() > 1) GTEST_SKIP() << "this computer has several nodes";
  const std::vector<int> values = numbers(10);
  replicated<int> r{std::span<const int>(values)};
  EXPECT_EQ(r.copy_count(), 0U);
  r.edit([](std::span<int> original) { original[0] = 9; });
  EXPECT_EQ(r.local()[0], 9) << "the original itself";
  EXPECT_TRUE(r.report().one_node);
}

TEST(replicated, nothing_is_replicated_to_nothing) {
  const machine_for_a_while two(topology::testing::synthetic("node:2 core:1 pu:1"));
  replicated<int> r{std::span<const int>()};
  r.refresh();
  EXPECT_EQ(r.local().size(), 0U);
}

}  // namespace
