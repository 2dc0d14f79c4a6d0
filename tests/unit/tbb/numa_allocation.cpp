// tbb::allocate_numa_interleaved: zeroed pages for whoever asks rightly, null for whoever does not; where pages go is a
// wish, and has a test of its own on machines that have nodes.
#define TBB_PREVIEW_NUMA_ALLOCATION 1
#include <gtest/gtest.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/numa_allocation.h>
#include <oneapi/tbb/parallel_for.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using bytes_view = std::vector<std::size_t>;

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// Aligned to a page, all zeros, all writable; and given back.
void expect_usable(void* memory, std::size_t bytes) {
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % page(), 0U);
  auto* first = static_cast<unsigned char*>(memory);
  EXPECT_TRUE(std::all_of(first, first + bytes, [](unsigned char c) { return c == 0; }));
  tbb::parallel_for(std::size_t{0}, bytes, [=](std::size_t i) { first[i] = static_cast<unsigned char>(i); });
  bool kept = true;
  for (std::size_t i = 0; i < bytes; ++i) {
    kept = kept && first[i] == static_cast<unsigned char>(i);
  }
  EXPECT_TRUE(kept);
  tbb::deallocate_numa_interleaved(memory, bytes);
}

TEST(numa_allocation, gives_zeroed_pages_over_all_nodes) {
  for (const std::size_t bytes : bytes_view{1, page() - 1, page(), page() + 1, 5 * page() + 3}) {
    SCOPED_TRACE(bytes);
    expect_usable(tbb::allocate_numa_interleaved(bytes), bytes);
    for (const std::size_t chunk : bytes_view{page(), 2 * page(), 64 * page()}) {
      SCOPED_TRACE(chunk);
      expect_usable(tbb::allocate_numa_interleaved(bytes, chunk), bytes);
    }
  }
}

TEST(numa_allocation, takes_nodes_in_any_order_and_more_than_once) {
  std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
  const std::size_t bytes = 9 * page() + 1;
  expect_usable(tbb::allocate_numa_interleaved(bytes, nodes), bytes);
  expect_usable(tbb::allocate_numa_interleaved(bytes, {nodes.front()}, 3 * page()), bytes);
  nodes.push_back(nodes.front());
  nodes.push_back(nodes.front());
  expect_usable(tbb::allocate_numa_interleaved(bytes, nodes, page()), bytes);
  std::reverse(nodes.begin(), nodes.end());
  expect_usable(tbb::allocate_numa_interleaved(bytes, nodes, 2 * page()), bytes);
}

TEST(numa_allocation, answers_bad_arguments_with_null) {
  const auto nodes = tbb::info::numa_nodes();
  EXPECT_EQ(tbb::allocate_numa_interleaved(0), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(0, nodes), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(page(), std::vector<tbb::numa_node_id>{}), nullptr);
  for (const std::size_t chunk : bytes_view{1, page() - 1, page() + 1}) {
    EXPECT_EQ(tbb::allocate_numa_interleaved(page(), chunk), nullptr);
    EXPECT_EQ(tbb::allocate_numa_interleaved(page(), nodes, chunk), nullptr);
  }
}

/// What the header hands on: neither a list nor a count is all nodes; one without the other is an error.
TEST(numa_allocation, without_nodes_is_null_unless_all_are_meant) {
  const tbb::numa_node_id node = tbb::info::numa_nodes().front();
  const auto allocate = [](const tbb::numa_node_id* nodes, std::size_t count) {
    return tbb::detail::r1::allocate_interleaved(page(), nodes, count, 0);
  };
  EXPECT_EQ(allocate(&node, 0), nullptr);
  EXPECT_EQ(allocate(nullptr, 1), nullptr);
  expect_usable(allocate(nullptr, 0), page());
  expect_usable(allocate(&node, 1), page());
}

TEST(numa_allocation, more_than_there_is_is_null) {
  EXPECT_EQ(tbb::allocate_numa_interleaved(std::numeric_limits<std::size_t>::max()), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(std::size_t{1} << 60), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(std::numeric_limits<std::size_t>::max(), tbb::info::numa_nodes(), page()),
            nullptr);
}

}  // namespace
