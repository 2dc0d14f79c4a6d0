// Under filters that refuse what Docker and Podman refuse, with EPERM and with ENOSYS, every call tells the truth, and
// copying, which needs none of those calls, is run and checked. Each test installs its filter in a child of its own.
#include <homing/placement.hpp>

#include "unit/common/placement_fixture.hpp"
#include "unit/common/sandbox.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

TEST(sandbox, where_and_verify_read_the_listing_instead) {
  in_sandbox(docker, [](int) {
    const own_memory m(100);
    EXPECT_EQ(where(m.range()).untouched, 100U);
    for (const std::size_t p : {3, 4, 5, 50, 99}) m.data()[p * page_bytes()] = 1;
    const page_census census = where(m.range());
    EXPECT_EQ(census.source, page_source::numa_maps);
    EXPECT_EQ(census.untouched, 95U);
    EXPECT_EQ(census.unknown, 0U);
    EXPECT_EQ(on_nodes(census), list(m.range()).on);
    const page_census part = where(m.span().subspan(4 * page_bytes(), 50 * page_bytes()));
    EXPECT_EQ(part.pages - part.untouched, 3U) << "a part of a mapping, too: there is one node";
    const auto v = verify(block(m.size()), m.span());
    EXPECT_EQ(v.source, page_source::numa_maps);
    EXPECT_EQ(v.at_home + v.away, 5U);
  });
}

TEST(sandbox, a_policy_that_is_refused_is_told_with_its_errno) {
  in_sandbox(docker, [](int error) {
    const topology::bound_thread bound(topology::current(), domain_index{0});
    const own_memory m(10);
    m.data()[0] = 1;
    const auto placed = localize(m.range(), domain_index{0}, {.how = means::policy});
    EXPECT_TRUE(placed.ok());
    EXPECT_EQ(placed.report().placed, 1U);
    ASSERT_EQ(placed.report().refused.size(), 1U);
    EXPECT_EQ(placed.report().refused[0].cause, refusal_cause::not_permitted);
    EXPECT_EQ(placed.report().refused[0].error_number, error);
    EXPECT_EQ(placed.report().refused[0].pages, 9U);
    EXPECT_FALSE(placed.report().by_policy);
    EXPECT_FALSE(localize(m.range(), domain_index{0}, {.refusal = on_refusal::fail, .how = means::policy}).ok());
  });
}

TEST(sandbox, copying_works_without_the_calls_and_loses_nothing) {
  if (!two_node_claim::is_possible()) GTEST_SKIP() << "needs one node, and CPUs 0 and 1";
  in_sandbox(docker, [](int error) {
    const two_node_claim claim;
    const own_memory m(256);
    fill(m.span().first(m.size() / 2));
    const auto d = block_cyclic(m.size(), 16 * page_bytes());
    const auto shared = enforce(d, m.span());
    EXPECT_EQ(refused(shared.report(), refusal_cause::not_exclusive), 64U + 128U) << shared.report().describe();
    EXPECT_EQ(shared.report().refused[0].error_number, error);
    EXPECT_EQ(shared.report().placed, 64U);
    expect_adds_up(shared.report());

    const auto placed = enforce(d, m.span(), {.who = access::exclusive});
    EXPECT_TRUE(placed.report().by_copying);
    EXPECT_FALSE(placed.report().by_policy || placed.report().by_moving);
    EXPECT_EQ(placed.report().placed, 128U) << placed.report().describe();
    EXPECT_EQ(refused(placed.report(), refusal_cause::elsewhere), 128U) << "this computer has no second node";
    expect_adds_up(placed.report());
    EXPECT_TRUE(is_filled(m.span().first(m.size() / 2)));
    for (const unsigned char byte : m.span().last(m.size() / 2)) ASSERT_EQ(byte, 0);
    EXPECT_EQ(on_nodes(where(m.range())), list(m.range()).on);
    EXPECT_EQ(list(m.range()).on, (std::map<int, std::size_t>{{0, 256}}));
  });
}

TEST(sandbox, shared_memory_is_not_copied) {
  if (!two_node_claim::is_possible()) GTEST_SKIP() << "needs one node, and CPUs 0 and 1";
  in_sandbox(docker, [](int) {
    const two_node_claim claim;
    const own_memory m(8, MAP_SHARED | MAP_ANONYMOUS);
    fill(m.span());
    const auto placed = localize(m.range(), domain_index{1}, {.who = access::exclusive});
    EXPECT_EQ(refused(placed.report(), refusal_cause::not_anonymous), 8U);
    EXPECT_FALSE(placed.report().by_copying);
    EXPECT_TRUE(is_filled(m.span()));
  });
}

TEST(sandbox, with_mbind_alone_policies_work_and_counts_come_from_the_listing) {
  in_sandbox(podman, [](int) {
    const own_memory m(20);
    fill(m.span().first(10 * page_bytes()));
    {
      const auto placed = localize(m.range(), domain_index{0}, {.how = means::policy});
      if (!placed.report().by_policy) return;  // a sandbox around the tests refuses more
      EXPECT_EQ(placed.report().placed, 10U);
      EXPECT_EQ(placed.report().later, 10U);
      EXPECT_TRUE(placed.report().complete());
      EXPECT_EQ(where(m.range()).source, page_source::numa_maps);
    }
    EXPECT_EQ(list(m.range()).policy, "default");
    EXPECT_TRUE(is_filled(m.span().first(10 * page_bytes())));
  });
}

}  // namespace
