// On a computer with several memory nodes, the pages of memory resources are on the nodes that they were asked from,
// also with threads of other nodes touching them first; the kernel's own listing is the witness. Skipped with one
// node: lab.many_nodes runs it with four.
#include <homing/memory_resource.hpp>

#include <cerrno>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "unit/common/placement_fixture.hpp"
#include "unit/common/sandbox.hpp"

namespace {

using namespace homing;
using namespace homing::testing;
using nodes = std::map<int, std::size_t>;

constexpr std::size_t bytes = 300 * 4096;  // a mapping of its own

class many_nodes_memory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (topology::current().memory_node_count() < 2) GTEST_SKIP() << "this computer has one memory node";
  }
  static std::size_t domains() { return topology::current().domains().size(); }
  static int node_of(std::size_t d) { return to_number(topology::current().memory_id(static_cast<domain_index>(d))); }
  /// Runs f on a thread of a domain.
  template <class F>
  static void in_domain(std::size_t d, F f) {
    std::thread([&] {
      const topology::bound_thread bound(topology::current(), static_cast<domain_index>(d));
      f();
    }).join();
  }
  /// Allocates and touches in one domain.
  static void* touched(std::pmr::memory_resource& from, std::size_t d) {
    void* block = nullptr;
    in_domain(d, [&] { std::memset(block = from.allocate(bytes, page_bytes()), 1, bytes); });
    return block;
  }
};

TEST_F(many_nodes_memory, of_a_domain_is_there_whoever_touches_it) {
  for (const on_full choice : {on_full::spill, on_full::fail}) {
    for (std::size_t d = 0; d < domains(); ++d) {
      domain_resource resource(static_cast<domain_index>(d), {.when_full = choice});
      void* const large = touched(resource, (d + 1) % domains());
      EXPECT_EQ(on_nodes(where({large, bytes})), (nodes{{node_of(d), bytes / page_bytes()}}));
      resource.deallocate(large, bytes, page_bytes());
      auto* const small = static_cast<char*>(resource.allocate(100));
      std::memset(small, 1, 100);
      EXPECT_EQ(on_nodes(where({small, 100})), (nodes{{node_of(d), 1}}));
      resource.deallocate(small, 100);
      EXPECT_EQ(resource.usage().unplaced_bytes, 0U);
    }
  }
}

TEST_F(many_nodes_memory, local_follows_the_thread_and_stays_when_recycled) {
  local_resource resource;
  for (std::size_t d = 0; d < domains(); ++d) {
    for (int again = 0; again < 3; ++again) {
      void* block = nullptr;
      in_domain(d, [&] { block = resource.allocate(100); });
      static_cast<char*>(block)[0] = 1;
      EXPECT_EQ(on_nodes(where({block, 100})), (nodes{{node_of(d), 1}}));
      in_domain((d + 1) % domains(), [&] { resource.deallocate(block, 100); });
    }
  }
}

TEST_F(many_nodes_memory, interleaved_is_dealt_evenly) {
  interleaved_resource resource;
  void* const block = touched(resource, 0);
  const nodes found = on_nodes(where({block, bytes}));
  for (std::size_t d = 0; d < domains(); ++d) {
    const std::size_t share = bytes / page_bytes() / found.size();
    EXPECT_NEAR(static_cast<double>(found.at(node_of(d))), static_cast<double>(share), 1.0);
  }
  resource.deallocate(block, bytes, page_bytes());
}

TEST_F(many_nodes_memory, along_a_distribution_each_element_is_at_home) {
  const auto d = block(bytes, domain_set::all(), page_bytes());
  for (const on_full choice : {on_full::spill, on_full::fail}) {
    distributed_resource rows(d, 1, {.when_full = choice});
    void* const block_of_all = touched(rows, 0);
    EXPECT_EQ(verify(d, std::span(static_cast<char*>(block_of_all), bytes)).at_home, bytes / page_bytes());
    EXPECT_EQ(rows.usage().unplaced_bytes, 0U);
    rows.deallocate(block_of_all, bytes, page_bytes());
  }
}

TEST_F(many_nodes_memory, a_full_node_is_bad_alloc_if_that_was_asked_for) {
  const topology::snapshot machine = topology::current();
  const topology::domain_info& last = machine.domains().back();
  const std::uint64_t has = machine.at(last.memory_node).memory_bytes;
  if (has == 0 || has > (std::uint64_t{1} << 30)) GTEST_SKIP() << "the node is too large to be filled in a test";
  domain_resource strict(last.index, {.when_full = on_full::fail});
  std::vector<void*> taken;
  const std::size_t step = std::size_t{8} << 20;
  try {
    while (taken.size() * step < has) taken.push_back(strict.allocate(step));
    FAIL() << "more than the node has";
  } catch (const std::bad_alloc&) {
    EXPECT_EQ(strict.usage().error_number, ENOMEM);
  }
  for (void* const block_of_8 : taken) {
    EXPECT_EQ(on_nodes(where({block_of_8, step})), (nodes{{node_of(domains() - 1), step / page_bytes()}}));
    strict.deallocate(block_of_8, step);
  }
}

// Without a policy a page may come from elsewhere: then there is no block. What is handed out is at home, every page.
TEST_F(many_nodes_memory, in_a_sandbox_a_block_is_at_home_or_refused) {
  in_sandbox(docker, [](int) {
    for (std::size_t d = 0; d < domains(); ++d) {
      domain_resource resource(static_cast<domain_index>(d), {.when_full = on_full::fail});
      in_domain((d + 1) % domains(), [&] {
        try {
          void* const block_of_it = resource.allocate(bytes, page_bytes());
          EXPECT_EQ(on_nodes(where({block_of_it, bytes})), (nodes{{node_of(d), bytes / page_bytes()}}));
          resource.deallocate(block_of_it, bytes, page_bytes());
        } catch (const std::bad_alloc&) {
          EXPECT_EQ(resource.usage().error_number, ENOMEM);
        }
      });
      EXPECT_EQ(resource.usage().mapped_bytes, 0U);
      EXPECT_EQ(resource.usage().unplaced_bytes, 0U);
    }
  });
}

}  // namespace
