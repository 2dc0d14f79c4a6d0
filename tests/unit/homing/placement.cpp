// On the real kernel: memory of every kind is placed and counted, the counts are those of /proc/self/numa_maps,
// policies end with their owner, contents stay; with one node nothing is done at all; a made-up machine keeps its book.
#include <homing/placement.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "unit/common/forked_child.hpp"
#include "unit/common/placement_fixture.hpp"
#include "unit/common/temporary_path.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

bool kernel_places() {
  const own_memory m(1);
  const auto r = localize(m.range(), domain_index{0}, {.how = means::policy});
  return r.report().by_policy;
}
#define NEEDS_PLACEMENT() \
  if (!kernel_places()) GTEST_SKIP() << "this kernel or sandbox refuses mbind"

domain_set everywhere() { return domain_set::all(); }

// Touched, placed by a way, checked, released, checked again.
void expect_placed(std::span<unsigned char> bytes, std::size_t whole_pages, const char* what) {
  SCOPED_TRACE(what);
  fill(bytes);
  const auto d = block(bytes.size(), everywhere());
  for (const means how : {means::policy, means::moving}) {
    const placed_range placed = enforce(d, bytes, {.how = how});
    const placement_report& r = placed.report();
    EXPECT_TRUE(placed.ok());
    EXPECT_TRUE(r.complete()) << r.describe();
    EXPECT_EQ(r.asked, whole_pages);
    EXPECT_EQ(enforce(d, bytes, {.how = how}).report().moved, 0U) << "again";
    EXPECT_FALSE(r.is_virtual || r.by_copying || r.one_node);
    expect_adds_up(r);
    const verification v = verify(d, bytes);
    EXPECT_EQ(v.asked, whole_pages);
    EXPECT_EQ(v.at_home, whole_pages);
    EXPECT_EQ(v.share_at_home(), 1.0);
    EXPECT_EQ(v.edge, r.edge);
    EXPECT_TRUE(is_filled(bytes));
  }
}

TEST(placement, takes_memory_of_every_kind) {
  NEEDS_PLACEMENT();
  const std::size_t page = page_bytes();
  const own_memory anonymous(20);
  expect_placed(anonymous.span(), 20, "mmap");
  const own_memory shared(20, MAP_SHARED | MAP_ANONYMOUS);
  expect_placed(shared.span(), 20, "shared");
  const int file = ::memfd_create("homing-test", 0);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(20 * page)), 0);
  const own_memory memfd(20, MAP_SHARED, file);
  expect_placed(memfd.span(), 20, "memfd");
  const own_memory copy_on_write(20, MAP_PRIVATE, file);
  expect_placed(copy_on_write.span(), 20, "private mapping of a file");
  ::close(file);
  const std::string path = homing::testing::temporary_path("placed");
  const int on_disk = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ASSERT_GE(on_disk, 0);
  ::unlink(path.c_str());
  ASSERT_EQ(::ftruncate(on_disk, static_cast<off_t>(20 * page)), 0);
  const own_memory shared_file(20, MAP_SHARED, on_disk);
  expect_placed(shared_file.span(), 20, "shared mapping of a file");
  ::close(on_disk);
  const std::unique_ptr<unsigned char, decltype(&std::free)> aligned(
      static_cast<unsigned char*>(std::aligned_alloc(page, 20 * page)), &std::free);
  expect_placed({aligned.get(), 20 * page}, 20, "aligned");
  std::vector<unsigned char> vector(20 * page);  // begins inside a page, behind malloc's header
  const auto begin = reinterpret_cast<std::uintptr_t>(vector.data());
  expect_placed(vector, (begin + vector.size()) / page - (begin + page - 1) / page, "vector");
  const own_memory hugetlb(512, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB);
  if (hugetlb.is_there()) expect_placed(hugetlb.span(), 512, "hugetlb");
}

TEST(placement, huge_pages_are_the_grain_where_they_are) {
  NEEDS_PLACEMENT();
  const own_memory m(3 * 512);
  ::madvise(m.data(), m.size(), MADV_HUGEPAGE);
  fill(m.span());
  const std::span<unsigned char> inner = m.span().subspan(page_bytes());
  const placed_range placed = localize(inner, domain_index{0}, {.how = means::moving});
  if (placed.report().grain_bytes == page_bytes()) GTEST_SKIP() << "no huge page was to be had";
  EXPECT_EQ(placed.report().grain_bytes, std::size_t{2} << 20);
  EXPECT_EQ(placed.report().edge, 511U) << "of the huge page whose first page is not in the range";
  EXPECT_EQ(placed.report().asked, 2 * 512U);
  EXPECT_TRUE(placed.report().complete());
  EXPECT_TRUE(is_filled(m.span()));
}

TEST(placement, where_counts_what_the_kernels_listing_counts) {
  NEEDS_PLACEMENT();
  const own_memory m(100);
  EXPECT_EQ(where(m.range()).untouched, 100U);
  EXPECT_EQ(where(m.range()).untouched, 100U) << "asking touches nothing";
  for (const std::size_t p : {3, 4, 5, 50, 99}) m.data()[p * page_bytes()] = 1;
  const volatile unsigned char zero = m.data()[70 * page_bytes()];  // the shared zero page is nowhere
  EXPECT_EQ(zero, 0);
  const page_census census = where(m.range());
  EXPECT_EQ(census.source, page_source::kernel);
  EXPECT_EQ(census.pages, 100U);
  EXPECT_EQ(census.untouched, 95U);
  EXPECT_EQ(census.unknown, 0U);
  EXPECT_EQ(on_nodes(census), list(m.range()).on);
  const auto v = verify(block(m.size(), everywhere()), m.span());
  EXPECT_EQ(v.untouched, 95U);
  EXPECT_EQ(v.at_home + v.away, 5U);
}

TEST(placement, holes_count_as_unknown_and_are_refused) {
  NEEDS_PLACEMENT();
  const own_memory m(10);
  fill(m.span());
  ::munmap(m.data() + 4 * page_bytes(), 2 * page_bytes());
  EXPECT_EQ(where(m.range()).unknown, 2U);
  const auto placed = localize(m.range(), domain_index{0}, {.how = means::policy});
  EXPECT_EQ(refused(placed.report(), refusal_cause::not_mapped), 2U);
  EXPECT_EQ(placed.report().placed, 8U);
  const auto none = localize(m.range(), domain_index{0}, {.refusal = on_refusal::fail, .how = means::policy});
  EXPECT_FALSE(none.ok());
  expect_adds_up(none.report());
}

TEST(placement, a_policy_ends_with_its_owner) {
  NEEDS_PLACEMENT();
  const own_memory m(10);
  {
    placed_range placed = localize(m.range(), domain_index{0}, {.how = means::policy});
    EXPECT_EQ(placed.report().later, 10U);
    EXPECT_EQ(list(m.range()).policy.substr(0, 6), "prefer");
    placed_range moved = std::move(placed);
    EXPECT_EQ(placed.reset(), 0) << "nothing is left to reset";
    EXPECT_EQ(list(m.range()).policy.substr(0, 6), "prefer");
  }
  EXPECT_EQ(list(m.range()).policy, "default");
  auto kept = localize(m.range(), domain_index{0}, {.strength = binding::strict, .how = means::policy});
  kept.release();
  EXPECT_EQ(list(m.range()).policy.substr(0, 5), "bind:");
  EXPECT_EQ(kept.reset(), 0);
  EXPECT_EQ(list(m.range()).policy.substr(0, 5), "bind:") << "released";
  {
    const auto dealt = interleave(m.range(), {}, {.how = means::policy});
    EXPECT_EQ(list(m.range()).policy.substr(0, 10), "interleave");
    EXPECT_TRUE(dealt.report().complete());
  }
  EXPECT_EQ(list(m.range()).policy, "default");
}

TEST(placement, a_page_belongs_to_who_placed_it_last) {
  NEEDS_PLACEMENT();
  const own_memory m(10);
  const auto policy_of = [&](std::size_t first, std::size_t pages) {
    return list({m.data() + first * page_bytes(), pages * page_bytes()}).policy.substr(0, 6);
  };
  const auto whole = [&] { return localize(m.range(), domain_index{0}, {.how = means::policy}); };
  placed_range placed = whole();
  for (int i = 0; i < 2; ++i) {
    placed = whole();
    EXPECT_EQ(policy_of(0, 10), "prefer") << "again";
  }
  std::optional<placed_range> inner = localize(m.span().subspan(3 * page_bytes(), 2 * page_bytes()), domain_index{0},
                                               {.strength = binding::strict, .how = means::policy});
  EXPECT_EQ(placed.reset(), 0);
  EXPECT_EQ(policy_of(0, 3), "defaul");
  EXPECT_EQ(policy_of(3, 2).substr(0, 5), "bind:") << "the newer one's";
  EXPECT_EQ(policy_of(5, 5), "defaul");
  placed = whole();
  inner.reset();
  EXPECT_EQ(policy_of(0, 10), "prefer") << "the older one's end";
  placed.release();
  EXPECT_EQ(whole().reset(), 0);
  EXPECT_EQ(policy_of(0, 10), "defaul") << "what was released can be placed again, and taken back";
}

TEST(placement, a_read_only_file_is_refused_clearly) {
  const int file = ::open("/proc/self/exe", O_RDONLY);
  void* const at = ::mmap(nullptr, 4 * page_bytes(), PROT_READ, MAP_PRIVATE, file, 0);
  ASSERT_NE(at, MAP_FAILED);
  const auto placed = localize({at, 4 * page_bytes()}, domain_index{0}, {.how = means::policy});
  EXPECT_EQ(refused(placed.report(), refusal_cause::read_only_file), 4U);
  EXPECT_NE(placed.report().describe().find("4 pages refused: a read-only mapping of a file"), std::string::npos)
      << placed.report().describe();
  ::munmap(at, 4 * page_bytes());
  ::close(file);
}

TEST(placement, with_one_node_nothing_is_done) {
  if (topology::current().memory_node_count() > 1) GTEST_SKIP() << "this computer has several nodes";
  const own_memory m(10);
  const auto placed = enforce(block(m.size()), m.span());
  EXPECT_TRUE(placed.report().one_node);
  EXPECT_TRUE(placed.report().complete());
  EXPECT_EQ(placed.report().placed, 10U);
  EXPECT_EQ(list(m.range()).policy, "default");
  EXPECT_EQ(where(m.range()).untouched, 10U);
}

TEST(placement, with_one_node_counting_asks_the_kernel_all_the_same) {
  if (topology::current().memory_node_count() > 1) GTEST_SKIP() << "this computer has several nodes";
  own_memory pages(8);
  pages.data()[0] = 1;
  const page_census census = where(pages.range());
  EXPECT_EQ(census.pages, 8U);
  EXPECT_EQ(census.untouched, 7U);
  EXPECT_EQ(verify(block(pages.size()), pages.span()).untouched, 7U);
  EXPECT_TRUE(census.source == page_source::kernel || census.source == page_source::numa_maps);
}

TEST(placement, with_one_node_pages_at_the_edge_are_not_asked_for) {
  if (topology::current().memory_node_count() > 1) GTEST_SKIP() << "this computer has several nodes";
  const own_memory m(4);
  const std::size_t page = page_bytes();
  struct part {
    std::size_t first, last, asked, edge;
  };
  for (const part p : {part{0, 4 * page, 4, 0},
                       {1, 4 * page, 3, 1},
                       {1, 3 * page + 1, 2, 2},
                       {page, page, 0, 0},
                       {page + 1, page + 2, 0, 1},
                       {page, page + 1, 0, 1},
                       {page - 1, page + 1, 0, 2}}) {
    const auto bytes = m.span().subspan(p.first, p.last - p.first);
    const auto d = block(bytes.size());
    const placed_range placed = enforce(d, bytes);
    const verification v = verify(d, bytes);
    EXPECT_EQ(placed.report().asked, p.asked) << p.first << " to " << p.last;
    EXPECT_EQ(placed.report().edge, p.edge) << p.first << " to " << p.last;
    EXPECT_EQ(v.asked, p.asked) << p.first << " to " << p.last;
    EXPECT_EQ(v.edge, p.edge) << p.first << " to " << p.last;
  }
}

TEST(placement, a_node_that_the_kernel_does_not_have_is_told) {
  NEEDS_PLACEMENT();
  if (!two_node_claim::is_possible()) GTEST_SKIP() << "needs one node, and CPUs 0 and 1";
  const two_node_claim claim;
  const own_memory m(10);
  fill(m.span());
  const auto d = block(m.size());
  for (const means how : {means::automatic, means::policy, means::moving}) {
    const auto placed = enforce(d, m.span(), {.how = how});
    EXPECT_EQ(placed.report().placed, 5U);
    EXPECT_EQ(refused(placed.report(), refusal_cause::bad_node), 5U) << placed.report().describe();
    expect_adds_up(placed.report());
  }
  const auto v = verify(d, m.span());
  EXPECT_EQ(v.at_home, 5U);
  EXPECT_EQ(v.away, 5U);
  const auto failed = enforce(d, m.span(), {.refusal = on_refusal::fail});
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(list(m.range()).policy, "default");
  EXPECT_TRUE(is_filled(m.span()));
}

TEST(placement, copying_moves_contents_through_threads_of_the_home) {
  if (!two_node_claim::is_possible()) GTEST_SKIP() << "needs one node, and CPUs 0 and 1";
  const two_node_claim claim;
  const own_memory m(64);
  fill(m.span().first(m.size() / 4 * 3));
  const auto d = block_cyclic(m.size(), 4 * page_bytes());
  const auto placed = enforce(d, m.span(), {.who = access::exclusive, .how = means::copying});
  EXPECT_TRUE(placed.report().by_copying);
  EXPECT_EQ(placed.report().placed, 32U);
  EXPECT_EQ(refused(placed.report(), refusal_cause::elsewhere), 32U) << "the only node there is";
  EXPECT_TRUE(is_filled(m.span().first(m.size() / 4 * 3)));
  EXPECT_EQ(on_nodes(where(m.range())), list(m.range()).on);
  const own_memory locked(8);
  fill(locked.span());
  // By its number: AddressSanitizer makes mlock() a call that does nothing.
  if (::syscall(SYS_mlock, locked.data(), page_bytes()) == 0) {
    const auto refusing = localize(locked.range(), domain_index{1}, {.who = access::exclusive, .how = means::copying});
    EXPECT_GE(refused(refusing.report(), refusal_cause::not_anonymous), 1U);
    EXPECT_TRUE(is_filled(locked.span()));
  }
}

// --- made-up machines ----------------------------------------------------------------------------------

struct virtual_machine {
  explicit virtual_machine(const char* text) {
    topology::set_current(topology::make_snapshot(topology::testing::synthetic(text)));
  }
  ~virtual_machine() { topology::refresh(); }
};

TEST(virtual_placement, homes_are_kept_in_a_book) {
  const virtual_machine four("node:4 core:2 pu:1");
  const own_memory m(16);
  EXPECT_EQ(where(m.range()).unknown, 16U);
  const auto d = block(m.size());
  {
    const auto placed = enforce(d, m.span());
    EXPECT_TRUE(placed.report().is_virtual && placed.report().complete());
    EXPECT_NE(placed.report().describe().find("virtual"), std::string::npos);
    const verification v = verify(d, m.span());
    EXPECT_EQ(v.source, page_source::book);
    EXPECT_EQ(v.at_home, 16U);
    ASSERT_EQ(v.homes.size(), 4U);
    EXPECT_EQ(v.homes[2].node, node_id{2});
    EXPECT_EQ(v.homes[2].pages.pages, 4U);
    EXPECT_EQ(on_nodes(where(m.range())), (std::map<int, std::size_t>{{0, 4}, {1, 4}, {2, 4}, {3, 4}}));
    EXPECT_EQ(enforce(d, m.span()).report().moved, 0U);
  }
  const auto one = localize(m.range(), domain_index{3});
  const auto two = localize(m.span().first(8 * page_bytes()), node_index{1});
  EXPECT_EQ(two.report().moved, 8U);
  EXPECT_EQ(verify(d, m.span()).at_home, 4U + 4U);
  EXPECT_EQ(on_nodes(where(m.range())), (std::map<int, std::size_t>{{1, 8}, {3, 8}}));
  EXPECT_EQ(list(m.range()).policy, "default") << "the real kernel is left alone";
}

TEST(virtual_placement, where_can_be_named_as_a_function) {
  const virtual_machine four("node:4 core:2 pu:1");
  const own_memory m(16);
  const placed_range placed = enforce(block(m.size()), m.span());
  const auto function = &homing::where;
  EXPECT_EQ(function(m.range()).pages, 16U);
  const std::vector<memory_range> parts{m.range(), m.span().first(page_bytes())};
  std::vector<page_census> counted(parts.size());
  std::transform(parts.begin(), parts.end(), counted.begin(), homing::where);
  EXPECT_EQ(counted[0].on(node_id{3}), 4U);
  EXPECT_EQ(counted[1].on(node_id{0}), 1U);
  const std::function<page_census(memory_range)> kept = homing::where;
  EXPECT_EQ(kept(m.span()).on(node_id{2}), 4U);
  struct own_buffer {
    memory_range bytes;
    operator memory_range() const { return bytes; }  // NOLINT(google-explicit-constructor)
  };
  EXPECT_EQ(where(own_buffer{m.range()}).pages, 16U);
}

TEST(virtual_placement, a_page_belongs_to_who_placed_it_last) {
  const virtual_machine four("node:4 core:2 pu:1");
  const own_memory m(16);
  const auto d = block(m.size());
  placed_range placed = enforce(d, m.span());
  for (int i = 0; i < 2; ++i) {
    placed = enforce(d, m.span());
    EXPECT_EQ(verify(d, m.span()).at_home, 16U) << "again";
  }
  std::vector<placed_range> pages;
  for (std::size_t p = 0; p < 16; ++p) {
    pages.push_back(localize(m.span().subspan(p * page_bytes(), page_bytes()), domain_index{3}));
  }
  EXPECT_EQ(placed.reset(), 0);
  EXPECT_EQ(on_nodes(where(m.range())), (std::map<int, std::size_t>{{3, 16}}));
  pages.erase(pages.begin() + 4, pages.begin() + 8);
  EXPECT_EQ(where(m.range()).unknown, 4U);
  EXPECT_EQ(where({m.data() + 4 * page_bytes(), 4 * page_bytes()}).unknown, 4U);
}

TEST(virtual_placement, a_border_page_is_its_neighbours) {
  const virtual_machine four("node:4 core:2 pu:1");
  const own_memory m(4);
  const placed_range right = localize(m.span().subspan(2 * page_bytes()), domain_index{2});
  {
    const placed_range left = localize(m.span().first(2 * page_bytes() + 100), domain_index{1});
    EXPECT_EQ(left.report().edge, 1U);
  }
  EXPECT_EQ(on_nodes(where(m.range())), (std::map<int, std::size_t>{{2, 2}}));
}

TEST(virtual_placement, interleaves_over_all_nodes_or_those_named) {
  const virtual_machine four("node:4 core:2 pu:1");
  const own_memory m(16);
  EXPECT_EQ(interleave(m.range()).report().placed, 16U);
  const std::vector<node_index> named{node_index{3}, node_index{1}};
  const auto placed = interleave(m.range(), named);
  EXPECT_EQ(on_nodes(where(m.range())), (std::map<int, std::size_t>{{1, 8}, {3, 8}}));
}

TEST(virtual_placement, a_domain_without_memory_has_its_pages_with_the_nearest) {
  topology::set_current(topology::make_snapshot(topology::testing::fixture("memory_less")));
  const own_memory m(3);
  const auto placed = enforce(block(m.size()), m.span());
  EXPECT_EQ(on_nodes(where(m.range())), (std::map<int, std::size_t>{{0, 1}, {2, 2}}));
  EXPECT_EQ(verify(block(m.size()), m.span()).at_home, 3U);
  topology::refresh();
}

TEST(virtual_placement, a_node_without_memory_is_refused_as_a_kernel_does) {
  topology::set_current(topology::make_snapshot(topology::testing::fixture("memory_less")));
  const own_memory m(4);
  {
    const auto placed = localize(m.range(), node_index{1});
    EXPECT_TRUE(placed.ok());
    EXPECT_EQ(placed.report().placed, 0U);
    EXPECT_EQ(refused(placed.report(), refusal_cause::bad_node), 4U) << placed.report().describe();
    EXPECT_EQ(placed.report().refused[0].error_number, EINVAL);
    EXPECT_EQ(where(m.range()).unknown, 4U);
    expect_adds_up(placed.report());
  }
  const std::vector<node_index> dealt{node_index{0}, node_index{1}};
  {
    const auto some = interleave(m.range(), dealt);
    EXPECT_EQ(refused(some.report(), refusal_cause::bad_node), 2U);
    EXPECT_EQ(on_nodes(where(m.range())), (std::map<int, std::size_t>{{0, 2}}));
    expect_adds_up(some.report());
  }
  const auto none = interleave(m.range(), dealt, {.refusal = on_refusal::fail});
  EXPECT_FALSE(none.ok());
  EXPECT_EQ(refused(none.report(), refusal_cause::not_attempted), 2U);
  EXPECT_EQ(where(m.range()).unknown, 4U) << "nothing is left behind";
  expect_adds_up(none.report());
  topology::refresh();
}

// The list of mappings and the kernel's own of policies can't be opened then.
TEST(placement, without_file_descriptors_what_is_mapped_is_placed) {
  SKIP_UNDER_TSAN();
  if (topology::current().is_virtual()) GTEST_SKIP() << "the machine is made up";
  EXPECT_TRUE(child_can([] {
    const own_memory m(8);
    fill(m.span());
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return false;
    const auto placed = localize(m.range(), domain_index{0}, {.how = means::policy});
    const bool is_hole = refused(placed.report(), refusal_cause::not_mapped) > 0;
    const page_census census = where(m.range());
    // Where a sandbox refuses the query, nobody tells.
    return !is_hole && (census.source != page_source::kernel || census.unknown == 0);
  }));
}

TEST(placement, wrong_arguments_are_the_programmers) {
  const own_memory m(4);
  EXPECT_DEATH(static_cast<void>(localize({MAP_FAILED, 5}, domain_index{0})), "homing: localize: the range wraps");
  EXPECT_DEATH(static_cast<void>(where({nullptr, 5})), "homing: where: the range begins at null");
  EXPECT_DEATH(static_cast<void>(where({m.data(), SIZE_MAX})), "homing: where: the range wraps");
  EXPECT_DEATH(static_cast<void>(localize(m.range(), domain_index{99})),
               "localize: the current machine has no such domain");
  EXPECT_DEATH(static_cast<void>(localize(m.range(), node_index{99})),
               "localize: the current machine has no such node");
  EXPECT_DEATH(static_cast<void>(enforce(block(5, everywhere()), m.span())), "another size than the range");
  EXPECT_DEATH(static_cast<void>(verify(block(m.size(), domain_set{domain_index{99}}), m.span())),
               "names a domain that the current machine does not have");
  EXPECT_DEATH(static_cast<void>(verify(block(m.size(), domain_set{domain_index{0xFFFFFFFF}}), m.span())),
               "names a domain that the current machine does not have");
  const std::vector<double> empty;
  EXPECT_EQ(where(empty).pages, 0U);
  EXPECT_EQ(enforce(block(0), std::span<double>()).report().asked, 0U);
}

TEST(placement, elements_per_page_keeps_pages_whole) {
  struct three {
    char bytes[24];
  };
  EXPECT_EQ(elements_per_page<double>() * sizeof(double), page_bytes());
  EXPECT_EQ(elements_per_page<three>() * sizeof(three) % page_bytes(), 0U);
  EXPECT_EQ(elements_per_page<three>() * sizeof(three), 3 * page_bytes());
}

}  // namespace
