// Interleaved memory is usable whatever the kernel grants, and carries the policy where it grants it: read from the
// kernel's own listing.
#include "memory/interleaved.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "platform/memory_policy.hpp"

namespace {

using homing::memory::allocate_interleaved;
using homing::memory::deallocate_interleaved;
using homing::platform::default_memory_nodes;

const std::size_t page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

/// The policy that /proc/self/numa_maps shows for the mapping at `address`, or "" if it lists none.
std::string policy_at(const void* address) {
  std::ostringstream start;
  start << std::hex << reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/numa_maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string where;
    std::string policy;
    words >> where >> policy;
    if (where == start.str()) {
      return policy;
    }
  }
  return "";
}

TEST(interleaved, impossible_requests_give_null) {
  EXPECT_EQ(allocate_interleaved(0, {}, 0), nullptr);
  EXPECT_EQ(allocate_interleaved(page_bytes, {}, 1), nullptr);
  EXPECT_EQ(allocate_interleaved(page_bytes, {}, page_bytes + 1), nullptr);
  EXPECT_EQ(allocate_interleaved(std::size_t{1} << 60, {}, 0), nullptr);
  EXPECT_EQ(allocate_interleaved(SIZE_MAX, {}, 0), nullptr);
  deallocate_interleaved(nullptr, 100);
}

TEST(interleaved, memory_is_usable_for_every_request_that_stock_grants) {
  const std::vector<std::vector<int>> node_lists = {{}, {0}, {0, 0}, {1, 0}, {-1}, {900}};
  for (const auto& nodes : node_lists) {
    for (const std::size_t chunk : {std::size_t{0}, page_bytes, 3 * page_bytes, 1024 * page_bytes}) {
      for (const std::size_t bytes : {std::size_t{1}, 7 * page_bytes + 5, 100 * page_bytes}) {
        void* const memory = allocate_interleaved(bytes, nodes, chunk);
        ASSERT_NE(memory, nullptr);
        std::memset(memory, 1, bytes);
        deallocate_interleaved(memory, bytes);
      }
    }
  }
}

TEST(interleaved, a_named_node_shows_in_the_kernels_listing) {
  const auto nodes = default_memory_nodes().ids();
  if (nodes.empty()) {
    GTEST_SKIP() << "this kernel lists no NUMA nodes";
  }
  const std::vector<int> one = {static_cast<int>(nodes.front())};
  void* const memory = allocate_interleaved(8 * page_bytes, one, 0);
  ASSERT_NE(memory, nullptr);
  const std::string policy = policy_at(memory);
  deallocate_interleaved(memory, 8 * page_bytes);
  if (policy.empty() || policy == "default") {
    GTEST_SKIP() << "this kernel or sandbox refuses mbind";
  }
  EXPECT_EQ(policy, "interleave:" + std::to_string(one.front()));
}

}  // namespace
