// The plan agrees with a byte-by-byte count of majorities for random ranges, elements and patterns; listings are read
// as the kernel writes them; numa_maps' totals never become a page's place that they don't tell; the book forgets.
#include "memory/page_plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

#include "memory/home_book.hpp"
#include "memory/page_locations.hpp"
#include "unit/common/fake_kernel.hpp"

namespace {

using namespace homing;
using homing::testing::fake_kernel;
using memory::page_locations;
using memory::page_plan;
using ints = std::vector<int>;
constexpr std::size_t page = fake_kernel::page;

// --- plan --------------------------------------------------------------------------------------

struct some_homes {  // elements with a home of -1 have none
  ints of;
  [[nodiscard]] std::optional<domain_index> home(const box<1>& part) const {
    for (std::size_t i = part.first[0]; i < part.last[0]; ++i) {
      if (of[i] < 0 || of[i] != of[part.first[0]]) return std::nullopt;
    }
    return static_cast<domain_index>(of[part.first[0]]);
  }
};

page_plan plan_of(fake_kernel& k, const some_homes& d, std::size_t offset, std::size_t element_bytes) {
  const memory_range range(k.bytes() + offset, d.of.size() * element_bytes);
  const auto pages = memory::pages_of(range, page, "test");
  return memory::make_plan(detail::erase(d), range, element_bytes, pages, page,
                           memory::huge_units(k, pages, k.mappings(pages).all));
}

TEST(page_plan, a_domain_that_no_machine_has_is_none_of_the_plans_signs) {
  struct of_all {
    domain_index domain;
    [[nodiscard]] std::optional<domain_index> home(const box<1>& /*part*/) const { return domain; }
  };
  fake_kernel k(1);
  const memory_range range(k.bytes(), page);
  const auto pages = memory::pages_of(range, page, "test");
  for (const std::uint32_t number : {0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFEU, 0xFFFFFFFFU}) {
    const of_all d{domain_index{number}};
    EXPECT_EQ(memory::make_plan(detail::erase(d), range, 1, pages, page, {}).home, ints{0x7FFFFFFF}) << number;
  }
}

// Counts each byte of each unit.
void expect_majorities(const page_plan& plan, const fake_kernel& k, const some_homes& d, std::size_t offset,
                       std::size_t element_bytes) {
  const std::size_t end = offset + d.of.size() * element_bytes;
  std::size_t mixed = 0;
  for (std::size_t p = 0; p < plan.size(); ++p) {
    const std::size_t at = (plan.address_of(p) - k.first) / page;
    std::size_t first = at;
    std::size_t last = at + 1;
    for (const std::size_t h : k.huge_first) {
      if (h <= at && at < h + 16) first = h, last = h + 16;
    }
    int expected = page_plan::edge;
    if (offset <= first * page && last * page <= end) {
      std::map<int, std::size_t> bytes;
      ints order;
      for (std::size_t b = first * page; b < last * page; ++b) {
        const int home = d.of[(b - offset) / element_bytes];
        if (home >= 0 && bytes[home]++ == 0) order.push_back(home);
      }
      expected = page_plan::no_home;
      for (const int home : order) {
        if (expected < 0 || bytes[home] > bytes[expected]) expected = home;
      }
      mixed += order.size() > 1;
    }
    ASSERT_EQ(plan.home[p], expected) << "page " << p;
    ASSERT_EQ(plan.begins_unit[p], p == 0 || at == first);
  }
  ASSERT_EQ(plan.mixed, mixed);
}

TEST(page_plan, agrees_with_a_count_of_every_byte) {
  std::mt19937 random(20240611);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    fake_kernel k(64);
    k.tells_huge = below(2) == 0;
    if (below(2) == 0)
      k.huge_first = k.tells_huge ? std::vector<std::size_t>{16, 32} : std::vector<std::size_t>{0, 16, 32, 48};
    for (const std::size_t h : k.huge_first) k.touch(h, h + 16, 0);  // a huge page is there as a whole
    const std::size_t element_bytes = std::vector<std::size_t>{1, 8, 24, 1000, 4096, 10000}[below(6)];
    const std::size_t offset = below(3) == 0 ? 0 : below(5 * page);
    some_homes d;
    const std::size_t count = (1 + below(58 * page)) / element_bytes;
    while (d.of.size() < count) {
      const std::size_t run = 1 + below(below(2) == 0 ? 3 * page / element_bytes + 1 : 20 * page / element_bytes + 1);
      d.of.insert(d.of.end(), std::min(run, count - d.of.size()), static_cast<int>(below(4)) - 1);
    }
    expect_majorities(plan_of(k, d, offset, element_bytes), k, d, offset, element_bytes);
  }
}

TEST(page_plan, hugetlb_pages_are_units) {
  fake_kernel k(64);
  k.kind.page_bytes = fake_kernel::huge;
  const auto plan = plan_of(k, {ints(48 * page, 1)}, 8 * page, 1);
  EXPECT_EQ(plan.grain_bytes, fake_kernel::huge);
  EXPECT_EQ(plan.size(), 48U);
  for (std::size_t p = 0; p < 48; ++p) EXPECT_EQ(plan.home[p], p < 8 || p >= 40 ? page_plan::edge : 1) << p;
}

TEST(page_plan, wrong_ranges_are_the_programmers) {
  const auto pages = [](std::uintptr_t at, std::size_t bytes) {
    return memory::pages_of(memory_range(reinterpret_cast<void*>(at), bytes), page, "enforce");
  };
  EXPECT_DEATH(pages(0, 1), "homing: enforce: the range begins at null");
  EXPECT_DEATH(pages(UINTPTR_MAX - page, 2 * page), "homing: enforce: the range wraps");
  EXPECT_DEATH(pages(page, SIZE_MAX), "wraps");
  EXPECT_DEATH(pages(UINTPTR_MAX, 1), "wraps");  // MAP_FAILED
  EXPECT_DEATH(pages(UINTPTR_MAX, 100 * page), "wraps");
  EXPECT_DEATH(pages(UINTPTR_MAX - page + 1, 2), "wraps");
  EXPECT_EQ(pages(0, 0).bytes(), 0U);
  EXPECT_EQ(pages(page + 7, 0).bytes(), 0U);
  EXPECT_EQ(pages(page + 7, page), (platform::address_range{page, 3 * page}));
}

// --- listings ------------------------------------------------------------------------------------

platform::line_source lines(std::istringstream& text) {
  return [&](std::string& line) { return static_cast<bool>(std::getline(text, line)); };
}

TEST(mappings, smaps_is_read_for_the_range_only) {
  std::istringstream text(
      "1000-3000 rw-p 00000000 00:00 0 \nSize: 8 kB\nKernelPageSize:        4 kB\nAnonHugePages:  2048 kB\n"
      "Locked: 0 kB\nVmFlags: rd wr mr mw me ac \n"
      "3000-5000 r--s 00001000 fe:00 12     /a/file with spaces\nKernelPageSize:     2048 kB\nShmemPmdMapped: 4 kB\n"
      "Locked: 8 kB\nVmFlags: rd dd \nwhat is this\n"
      "9000-a000 rw-p 00000000 00:00 0    [heap]\n");
  const auto found = platform::parse_smaps(lines(text), {0x2000, 0x4000});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].range, (platform::address_range{0x1000, 0x3000}));
  EXPECT_TRUE(found[0].readable && found[0].writable && !found[0].shared && found[0].may_mark);
  EXPECT_TRUE(found[0].is_private_anonymous() && !found[0].is_file());
  EXPECT_EQ(found[0].huge_bytes, 2U << 20);
  EXPECT_EQ(found[1].name, "/a/file with spaces");
  EXPECT_TRUE(found[1].shared && !found[1].writable && found[1].is_file() && !found[1].may_mark);
  EXPECT_EQ(found[1].page_bytes, 2U << 20);
  EXPECT_EQ(found[1].locked_bytes, 8192U);
}

TEST(mappings, shared_memory_is_no_file_and_a_heap_is_anonymous) {
  platform::mapping m;
  for (const char* name : {"/memfd:x (deleted)", "/dev/shm/x", "/SYSV00000000 (deleted)", "/dev/zero (deleted)"}) {
    m.name = name;
    EXPECT_FALSE(m.is_file() || m.is_private_anonymous()) << name;
  }
  for (const char* name : {"", "[heap]", "[stack]", "[anon:mine]"}) {
    m.name = name;
    EXPECT_TRUE(m.is_private_anonymous() && !m.is_file()) << name;
  }
}

TEST(mappings, numa_maps_counts_in_the_mappings_own_pages) {
  std::istringstream text(
      "1000 default anon=3 dirty=3 N0=1 N12=2 kernelpagesize_kB=4\n"
      "200000 bind:1 file=/anon_hugepage\\040(deleted) huge anon=1 dirty=1 N1=1 kernelpagesize_kB=2048\n"
      "rubbish\n400000 default\n800000 default N0=9\n");
  const auto found = platform::parse_numa_maps(lines(text), 0x800000);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].bytes_on, (std::vector<std::pair<node_id, std::size_t>>{{node_id{0}, 4096}, {node_id{12}, 8192}}));
  EXPECT_EQ(found[1].bytes_on, (std::vector<std::pair<node_id, std::size_t>>{{node_id{1}, 2U << 20}}));
  EXPECT_TRUE(found[2].bytes_on.empty());
}

// --- locations -------------------------------------------------------------------------------------

page_locations look(fake_kernel& k, std::size_t first, std::size_t last, const ints& owner) {
  const platform::address_range range{k.first + first * page, k.first + last * page};
  return memory::locate(k, range, k.mappings(range), owner);
}

TEST(page_locations, the_kernels_query_tells_each_page) {
  fake_kernel k(9000);  // more than two batches
  k.touch(0, 4000, 0);
  k.touch(5000, 9000, 3);
  k.pages[7].hole = true;
  const auto found = look(k, 0, 9000, ints(9000, 0));
  EXPECT_EQ(found.source, page_source::kernel);
  for (std::size_t p = 0; p < 9000; ++p) {
    ASSERT_EQ(found.node[p], p == 7 ? page_locations::hole : p < 4000 ? 0 : p < 5000 ? page_locations::untouched : 3);
  }
}

TEST(page_locations, the_listing_agrees_with_the_query_owner_by_owner) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    fake_kernel k(40);
    for (auto& p : k.pages) {
      if (random() % 4 != 0) p.node = static_cast<int>(random() % 3);
      p.hole = random() % 20 == 0;
      if (p.hole) p.node = fake_kernel::untouched;
    }
    const std::size_t first = random() % 10;
    const std::size_t last = 30 + random() % 11;
    ints owner;
    while (owner.size() < last - first) {
      owner.insert(owner.end(), std::min<std::size_t>(1 + random() % 12, last - first - owner.size()),
                   static_cast<int>(random() % 3));
    }
    const auto query = look(k, first, last, owner);
    k.move_errno = EPERM;
    k.numa_maps_reads = 0;
    const auto listing = look(k, first, last, owner);
    EXPECT_LE(k.numa_maps_reads, 3U) << "however many mappings there are";
    EXPECT_EQ(listing.source, page_source::numa_maps);
    for (const auto& p : k.pages) ASSERT_FALSE(p.marked) << "undone";
    for (int o = 0; o < 3; ++o) {
      const auto is_mine = [&](std::size_t p) { return owner[p] == o && query.node[p] != page_locations::hole; };
      const page_census a = memory::count_pages(query, is_mine);
      const page_census b = memory::count_pages(listing, is_mine);
      for (int node = 0; node < 3; ++node) ASSERT_EQ(a.on(node_id{node}), b.on(node_id{node}));
      ASSERT_EQ(a.untouched, b.untouched);
      ASSERT_EQ(b.unknown, 0U);
    }
    k.kind.may_mark = false;  // then it says less, and nothing wrong
    const auto less = look(k, first, last, owner);
    for (int o = 0; o < 3; ++o) {
      const auto is_mine = [&](std::size_t p) { return owner[p] == o && query.node[p] != page_locations::hole; };
      const page_census a = memory::count_pages(query, is_mine);
      const page_census c = memory::count_pages(less, is_mine);
      for (int node = 0; node < 3; ++node) ASSERT_LE(c.on(node_id{node}), a.on(node_id{node}));
      ASSERT_EQ(c.pages, a.pages);
    }
  }
}

// --- the book ----------------------------------------------------------------------------------------

TEST(home_book, agrees_with_an_array) {
  std::mt19937 random(11);
  memory::home_book book;
  ints expected(60, memory::home_book::not_written);
  for (int round = 0; round < 500; ++round) {
    const std::size_t first = random() % 60;
    const std::size_t last = first + random() % (61 - first);
    if (random() % 4 == 0) {
      book.forget({first * page, last * page});
      std::fill(expected.begin() + static_cast<long>(first), expected.begin() + static_cast<long>(last),
                memory::home_book::not_written);
    } else {
      ints node;
      for (std::size_t p = first; p < last; ++p) {
        node.push_back(static_cast<int>(random() % 3) - 1);
        if (node.back() >= 0) expected[p] = node.back();
      }
      book.write(first * page, page, node);
    }
    ASSERT_EQ(book.read({0, 60 * page}, page), expected);
    ASSERT_EQ(book.read({10 * page, 20 * page}, page), ints(expected.begin() + 10, expected.begin() + 20));
  }
}

}  // namespace
