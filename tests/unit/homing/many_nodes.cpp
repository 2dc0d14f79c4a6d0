// On a computer with several memory nodes, the kernel's own pages go where they are told, by every way that there is;
// /proc/self/numa_maps is the witness. Skipped with one node: lab.many_nodes runs it with four, and homing_placer has
// the same on a kernel that is stood in for.
#include <homing/placement.hpp>

#include <sys/wait.h>

#include <numeric>

#include "unit/common/placement_fixture.hpp"
#include "unit/common/sandbox.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

class many_nodes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (topology::current().memory_node_count() < 2) GTEST_SKIP() << "this computer has one memory node";
  }
  static std::size_t domains() { return topology::current().domains().size(); }
  static int node_of(std::size_t domain) {
    return to_number(topology::current().memory_id(static_cast<domain_index>(domain)));
  }
};

// The witness: what block(bytes) over all domains must look like, page by page, as counts a node.
std::map<int, std::size_t> counts_of(const regular_distribution<1>& d) {
  std::map<int, std::size_t> on;
  for (std::uint32_t i = 0; i < d.domains().size(); ++i) {
    on[to_number(topology::current().memory_id(d.domains()[i]))] += d.size_of(d.domains()[i]) / page_bytes();
  }
  return on;
}

void touch(const own_memory& m, std::size_t first, std::size_t last) {
  for (std::size_t p = first; p < last; ++p) m.data()[p * page_bytes()] = static_cast<unsigned char>(p);
}

TEST_F(many_nodes, blocks_go_home_those_there_and_those_to_come) {
  const own_memory m(64 * domains());
  touch(m, 0, m.pages() / 2);
  const auto d = block(m.size(), domain_set::all(), page_bytes());
  const placed_range placed = enforce(d, m.span());
  EXPECT_TRUE(placed.report().complete()) << placed.report().describe();
  EXPECT_EQ(placed.report().placed, m.pages() / 2);
  EXPECT_EQ(placed.report().later, m.pages() / 2);
  touch(m, 0, m.pages());
  const verification v = verify(d, m.span());
  EXPECT_EQ(v.at_home, m.pages());
  EXPECT_EQ(list(m.range()).on, counts_of(d));
  EXPECT_EQ(on_nodes(where(m.range())), counts_of(d));
  EXPECT_EQ(enforce(d, m.span()).report().moved, 0U);
}

TEST_F(many_nodes, every_way_keeps_contents_and_tells_the_truth) {
  for (const means how : {means::policy, means::moving}) {
    const own_memory m(40 * domains());
    fill(m.span());
    const auto here = localize(m.range(), domain_index{0}, {.how = how});
    EXPECT_TRUE(here.report().complete()) << here.report().describe();
    const auto d = block_cyclic(m.size(), 3 * page_bytes());
    const auto placed = enforce(d, m.span(), {.how = how});
    EXPECT_TRUE(placed.report().complete()) << placed.report().describe();
    EXPECT_GT(placed.report().moved, 0U);
    EXPECT_EQ(verify(d, m.span()).at_home, m.pages());
    EXPECT_EQ(list(m.range()).on, counts_of(d));
    EXPECT_TRUE(is_filled(m.span()));
  }
}

TEST_F(many_nodes, very_fine_patterns_are_moved_and_populated) {
  const own_memory m(3 * mapping_count_max);
  touch(m, 0, 500);
  const auto d = block_cyclic(m.size(), page_bytes());
  const auto placed = enforce(d, m.span());
  EXPECT_TRUE(placed.report().by_moving);
  EXPECT_TRUE(placed.report().complete()) << placed.report().describe();
  EXPECT_EQ(verify(d, m.span()).at_home, m.pages());
  EXPECT_EQ(list(m.range()).on, counts_of(d));
}

TEST_F(many_nodes, interleaving_spreads_evenly) {
  const std::size_t nodes = counts_of(block(domains() * page_bytes())).size();
  const own_memory m(60 * nodes);
  touch(m, 0, 30 * nodes);
  const auto placed = interleave(m.range());
  EXPECT_TRUE(placed.report().complete()) << placed.report().describe();
  touch(m, 0, m.pages());
  for (const auto& [node, pages] : list(m.range()).on) EXPECT_NEAR(static_cast<double>(pages), 60.0, 1.0) << node;
}

TEST_F(many_nodes, huge_pages_are_moved_whole) {
  const own_memory m(8 * 512);
  ::madvise(m.data(), m.size(), MADV_HUGEPAGE);
  fill(m.span());
  const auto here = localize(m.range(), domain_index{0}, {.how = means::moving});
  if (here.report().grain_bytes == page_bytes()) GTEST_SKIP() << "no huge page was to be had";
  for (const means how : {means::moving, means::policy}) {
    const auto d = block(m.size(), domain_set::first(2), how == means::moving ? weights{3, 5} : weights{7, 1});
    const auto placed = enforce(d, m.span(), {.how = how});
    EXPECT_TRUE(placed.report().complete()) << placed.report().describe();
    EXPECT_TRUE(is_filled(m.span()));
    EXPECT_EQ(verify(d, m.span()).at_home, m.pages());
  }
}

TEST_F(many_nodes, pages_that_another_process_maps_are_refused_by_name) {
  const own_memory m(64, MAP_SHARED | MAP_ANONYMOUS);
  const auto here = localize(m.range(), domain_index{0});
  fill(m.span());
  int ready[2];
  int end[2];
  ASSERT_EQ(::pipe(ready) | ::pipe(end), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // maps half of the pages (the kernel does it in sixteens), until told to go
    unsigned sum = 0;
    for (std::size_t p = 0; p < 32; ++p) sum += m.data()[p * page_bytes()];
    char c = static_cast<char>(sum);
    static_cast<void>(!::write(ready[1], &c, 1));
    ::close(end[1]);
    static_cast<void>(!::read(end[0], &c, 1));
    ::_exit(0);
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  const auto placed = localize(m.range(), domain_index{1});
  EXPECT_EQ(refused(placed.report(), refusal_cause::mapped_elsewhere), 32U) << placed.report().describe();
  EXPECT_EQ(placed.report().placed, 32U);
  ::close(end[1]);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(localize(m.range(), domain_index{1}).report().complete()) << "now that it is alone";
  EXPECT_TRUE(is_filled(m.span()));
  for (const int fd : {ready[0], ready[1], end[0]}) ::close(fd);
}

TEST_F(many_nodes, docker_copies_and_the_listing_proves_it) {
  in_sandbox(docker, [](int) {
    const std::size_t pages = 40 * topology::current().domains().size();
    const own_memory m(pages);
    fill(m.span().first(m.size() / 4 * 3));
    const auto d = block(m.size(), domain_set::all(), page_bytes());
    const auto shared = enforce(d, m.span());
    EXPECT_GT(refused(shared.report(), refusal_cause::not_exclusive), 0U);
    expect_adds_up(shared.report());
    const auto placed = enforce(d, m.span(), {.who = access::exclusive});
    EXPECT_TRUE(placed.report().by_copying);
    EXPECT_TRUE(placed.report().complete()) << placed.report().describe();
    EXPECT_EQ(list(m.range()).on, counts_of(d));
    const verification v = verify(d, m.span());
    EXPECT_EQ(v.source, page_source::numa_maps);
    EXPECT_EQ(v.at_home, pages);
    EXPECT_TRUE(is_filled(m.span().first(m.size() / 4 * 3)));
    EXPECT_EQ(enforce(d, m.span(), {.who = access::exclusive}).report().moved, 0U);
  });
}

TEST_F(many_nodes, podman_places_by_mbind_alone) {
  in_sandbox(podman, [](int) {
    const own_memory m(40 * topology::current().domains().size());
    fill(m.span());
    const auto d = block(m.size(), domain_set::all(), page_bytes());
    const auto placed = enforce(d, m.span());
    EXPECT_TRUE(placed.report().complete()) << placed.report().describe();
    EXPECT_EQ(list(m.range()).on, counts_of(d));
    const auto fine = block_cyclic(m.size(), page_bytes());
    const auto moved = enforce(fine, m.span(), {.how = means::moving});
    EXPECT_EQ(list(m.range()).on, counts_of(fine)) << moved.report().describe();
    EXPECT_TRUE(is_filled(m.span()));
  });
}

}  // namespace
