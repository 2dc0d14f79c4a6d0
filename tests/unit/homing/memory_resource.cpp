// Memory resources on made-up machines, where homes are in the book, and on the real kernel, also under filters that
// refuse what Docker refuses: containers live where they should, blocks return to their own pools, refusals are told.
#include <homing/allocator.hpp>
#include <homing/memory_resource.hpp>

#include <array>
#include <cerrno>
#include <deque>
#include <latch>
#include <map>
#include <memory_resource>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "unit/common/fake_memory.hpp"
#include "unit/common/placement_fixture.hpp"
#include "unit/common/sandbox.hpp"

namespace {

using namespace homing;
using namespace homing::testing;
using nodes = std::map<int, std::size_t>;

domain_index domain(unsigned i) { return static_cast<domain_index>(i); }

/// Makes a machine the process's for a while.
struct virtual_machine {
  explicit virtual_machine(std::shared_ptr<const topology::machine> m) {
    topology::set_current(topology::make_snapshot(std::move(m)));
  }
  explicit virtual_machine(const char* text) : virtual_machine(topology::testing::synthetic(text)) {}
  ~virtual_machine() { topology::refresh(); }
};

/// Runs f on a thread that is bound to a domain.
template <class F>
void in_domain(unsigned d, F f) {
  std::thread([&] {
    const topology::bound_thread bound(topology::current(), domain(d));
    f();
  }).join();
}

template <class Resource>
nodes home_of_a_block(Resource& resource, std::size_t bytes) {
  void* const block = resource.allocate(bytes);
  const nodes result = on_nodes(where({block, bytes}));
  resource.deallocate(block, bytes);
  return result;
}

std::string said_by(const std::function<void()>& f) {
  ::testing::internal::CaptureStderr();
  f();
  return ::testing::internal::GetCapturedStderr();
}

// --- made-up machines ----------------------------------------------------------------------------------

TEST(domain_resource, has_its_memory_in_its_domain) {
  const virtual_machine four("node:4 core:2 pu:1");
  for (unsigned d = 0; d < 4; ++d) {
    domain_resource resource(domain(d));
    for (const std::size_t bytes : {1UL, 5000UL, 100000UL, 5000000UL}) {
      const nodes found = home_of_a_block(resource, bytes);
      ASSERT_EQ(found.size(), 1U) << bytes;
      EXPECT_EQ(found.begin()->first, static_cast<int>(d));
    }
    EXPECT_EQ(resource.usage().live_blocks, 0U);
  }
  domain_resource by_node(node_index{2});
  EXPECT_EQ(home_of_a_block(by_node, 100), (nodes{{2, 1}}));
}

TEST(domain_resource, the_book_forgets_what_is_given_back) {
  const virtual_machine two("node:2 core:1 pu:1");
  void* block = nullptr;
  {
    domain_resource resource(domain(1));
    block = resource.allocate(5000000);
    EXPECT_EQ(where({block, 5000000}).unknown, 0U);
    resource.deallocate(block, 5000000);
  }
  EXPECT_EQ(where({block, 5000000}).unknown, where({block, 5000000}).pages);
}

TEST(domain_resource, serves_standard_containers) {
  const virtual_machine two("node:2 core:1 pu:1");
  domain_resource resource(domain(1));
  std::pmr::vector<int> numbers(100000, 3, &resource);
  std::pmr::deque<std::pmr::string> words(&resource);
  std::pmr::unordered_map<int, std::pmr::string> table(&resource);
  for (int i = 0; i < 1000; ++i) {
    words.emplace_back("a string that is longer than what fits inside the object itself");
    table.emplace(i, words.back());
  }
  EXPECT_EQ(on_nodes(where(memory_range(numbers))).begin()->first, 1);
  EXPECT_EQ(on_nodes(where({table.at(7).data(), 10})), (nodes{{1, 1}}));
  EXPECT_EQ(table.at(999), words.front());
  EXPECT_GT(resource.usage().live_blocks, 2000U);
  EXPECT_TRUE(resource.is_equal(resource));
  domain_resource other(domain(1));
  EXPECT_FALSE(resource.is_equal(other));
}

TEST(domain_resource, says_so_if_it_ends_with_live_blocks) {
  const virtual_machine two("node:2 core:1 pu:1");
  const std::string said = said_by([] {
    domain_resource resource(domain(1));
    static_cast<void>(resource.allocate(100));
  });
  EXPECT_EQ(said, "homing: domain_resource: ends with 1 blocks (100 bytes) alive; end what uses its memory first\n");
  EXPECT_EQ(said_by([] { local_resource quiet; }), "");
}

TEST(local_resource, allocates_near_the_thread_and_takes_blocks_back_to_their_own_pool) {
  const virtual_machine four("node:4 core:2 pu:1");
  local_resource resource;
  std::array<void*, 4> blocks{};
  for (unsigned d = 0; d < 4; ++d) {
    in_domain(d, [&] { blocks[d] = resource.allocate(64); });
    EXPECT_EQ(on_nodes(where({blocks[d], 64})), (nodes{{static_cast<int>(d), 1}}));
  }
  // A thread of domain 2 frees a block of domain 1. The next block of that size in domain 2 is not that one, and the
  // next in domain 1 is.
  in_domain(2, [&] {
    resource.deallocate(blocks[1], 64);
    void* const mine = resource.allocate(64);
    EXPECT_NE(mine, blocks[1]);
    EXPECT_EQ(on_nodes(where({mine, 64})), (nodes{{2, 1}}));
    resource.deallocate(mine, 64);
  });
  in_domain(1, [&] { EXPECT_EQ(resource.allocate(64), blocks[1]); });
  for (void* const block : blocks) resource.deallocate(block, 64);
  EXPECT_EQ(resource.usage().live_blocks, 0U);
}

TEST(local_resource, domains_that_share_memory_share_a_pool) {
  const virtual_machine less(topology::testing::fixture("memory_less"));
  local_resource resource;
  void* block = nullptr;
  in_domain(1, [&] { block = resource.allocate(64); });  // its node has no memory; the nearest is node 2
  EXPECT_EQ(on_nodes(where({block, 64})), (nodes{{2, 1}}));
  resource.deallocate(block, 64);
  in_domain(2, [&] { EXPECT_EQ(resource.allocate(64), block); });
  resource.deallocate(block, 64);
}

TEST(local_resource, a_spent_bound_spills_into_what_other_pools_have) {
  const virtual_machine two("node:2 core:1 pu:1");
  for (const on_full choice : {on_full::spill, on_full::fail}) {
    local_resource resource({.when_full = choice, .bytes_max = std::size_t{2} << 20});
    void* first = nullptr;
    in_domain(0, [&] { first = resource.allocate(64); });
    in_domain(1, [&] {
      if (choice == on_full::fail) {
        EXPECT_THROW(static_cast<void>(resource.allocate(64)), std::bad_alloc);
      } else {
        void* const spilled = resource.allocate(64);
        EXPECT_EQ(on_nodes(where({spilled, 64})), (nodes{{0, 1}}));
        resource.deallocate(spilled, 64);
      }
    });
    resource.deallocate(first, 64);
  }
}

// 16 threads in 4 domains allocate, write, hand over, check and free.
TEST(local_resource, threads_of_all_domains_exchange_blocks) {
  constexpr std::size_t threads = 16;
  constexpr std::size_t each = 300;
  const virtual_machine four("node:4 core:2 pu:1");
  const topology::snapshot machine = topology::current();
  local_resource resource;
  std::vector<std::vector<std::pmr::vector<std::size_t>>> made(threads);
  std::latch all_made(threads);
  std::vector<std::thread> pool;
  for (std::size_t t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      const topology::bound_thread bound(machine, domain(t % 4));
      for (std::size_t i = 0; i < each; ++i) made[t].emplace_back(i * 13 % 400 + 1, t * each + i, &resource);
      all_made.arrive_and_wait();
      std::size_t next = (t + 1) % threads;
      for (std::size_t i = 0; i < each; ++i) {
        const auto& v = made[next][i];
        EXPECT_TRUE(v.size() == i * 13 % 400 + 1 && v.front() == next * each + i && v.back() == v.front());
      }
      made[next].clear();
    });
  }
  for (std::thread& t : pool) t.join();
  EXPECT_EQ(resource.usage().live_blocks, 0U);
  EXPECT_LE(resource.usage().mapped_bytes, 4 * (std::size_t{2} << 20)) << "an empty region is kept for each node";
}

TEST(interleaved_resource, deals_pages_by_turns) {
  const virtual_machine four("node:4 core:2 pu:1");
  interleaved_resource resource;
  EXPECT_EQ(home_of_a_block(resource, 64 * page_bytes()), (nodes{{0, 16}, {1, 16}, {2, 16}, {3, 16}}));
  const std::array named{node_index{3}, node_index{1}};
  interleaved_resource two(named);
  EXPECT_EQ(home_of_a_block(two, 64 * page_bytes()), (nodes{{1, 32}, {3, 32}}));
}

TEST(distributed_resource, places_each_element_at_home) {
  const virtual_machine four("node:4 core:2 pu:1");
  constexpr std::size_t count = 100000;
  const auto d = block(count, domain_set::all(), elements_per_page<double>());
  distributed_resource rows(d, sizeof(double));
  {
    std::pmr::vector<double> x(count, 1.5, &rows);
    std::pmr::vector<double> y(count, 2.5, &rows);
    for (const auto* v : {&x, &y}) {
      EXPECT_EQ(verify(d, std::span(*v)).share_at_home(), 1.0);
      const auto first = on_nodes(where({const_cast<double*>(v->data()), 8}));
      EXPECT_EQ(first, (nodes{{0, 1}}));
      const auto last = on_nodes(where({const_cast<double*>(&v->back()), 8}));
      EXPECT_EQ(last, (nodes{{3, 1}})) << "the last page, too, though not all of it is elements";
    }
    EXPECT_EQ(rows.usage().live_blocks, 2U);
    EXPECT_EQ(rows.usage().live_bytes, 2 * count * sizeof(double));
    EXPECT_EQ(rows.usage().unplaced_bytes, 0U);
    EXPECT_EQ(std::accumulate(x.begin(), x.end(), 0.0), 1.5 * count);
  }
  EXPECT_EQ(rows.usage().mapped_bytes, 0U);
}

struct three {
  char bytes[24];
};

TEST(distributed_resource, takes_any_distribution_and_any_size) {
  const virtual_machine two("node:2 core:1 pu:1");
  struct all_in_1 {
    std::optional<domain_index> home(const box<1>&) const { return domain_index{1}; }
  };
  distributed_resource one(all_in_1{}, sizeof(three));
  EXPECT_EQ(home_of_a_block(one, 1000 * sizeof(three)), (nodes{{1, 6}}));
  EXPECT_EQ(home_of_a_block(one, 1), (nodes{{1, 1}})) << "less than an element is the first one's beginning";
  distributed_resource large(block(4, domain_set{domain(1)}), std::size_t{1} << 20);
  EXPECT_EQ(home_of_a_block(large, 128 * page_bytes()).at(1), 128U);
  distributed_resource ten(block(10, domain_set::all()), sizeof(three));
  EXPECT_EQ(home_of_a_block(ten, 2000 * sizeof(three)).at(1), 12U) << "beyond the distribution, the last home";
  void* const aligned = ten.allocate(10, std::size_t{1} << 21);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % (std::size_t{1} << 21), 0U);
  EXPECT_DEATH(ten.deallocate(aligned, 11, std::size_t{1} << 21), "memory_resource::deallocate: the block is not this");
  ten.deallocate(aligned, 10, std::size_t{1} << 21);
  EXPECT_THROW(static_cast<void>(ten.allocate(PTRDIFF_MAX - 4096)), std::bad_alloc);
  distributed_resource small(block(10, domain_set::all()), 8, {.bytes_max = 8192});
  EXPECT_THROW(static_cast<void>(small.allocate(8193)), std::bad_alloc);
  EXPECT_EQ(small.usage().mapped_bytes, 0U);
}

TEST(distributed_resource, says_so_if_it_ends_with_live_blocks) {
  const virtual_machine two("node:2 core:1 pu:1");
  EXPECT_EQ(said_by([] {
              distributed_resource rows(block(10, domain_set::all()), 8);
              static_cast<void>(rows.allocate(80));
            }),
            "homing: distributed_resource: ends with 1 blocks (80 bytes) alive; end what uses its memory first\n");
}

TEST(distributed_resource, a_refusal_that_is_bad_alloc_leaves_its_errno) {
  for (const int error : {EINVAL, EPERM, 0}) {
    fake_memory fake(4);
    platform::stand_in_for_page_calls(&fake);
    platform::stand_in_for_address_space(&fake);
    topology::set_current(four_real_nodes());
    {
      distributed_resource rows(block(40 * page_bytes(), domain_set::all()), 1, {.when_full = on_full::fail});
      fake.mbind_errno = fake.bind_errno = error;
      if (error == EPERM) fake.move_errno = error;
      if (error == 0) fake.free_on_1 = 0;
      EXPECT_THROW(static_cast<void>(rows.allocate(40 * page_bytes())), std::bad_alloc);
      EXPECT_EQ(rows.usage().error_number, error != 0 ? error : ENOMEM);
      EXPECT_EQ(rows.usage().live_blocks, 0U);
      EXPECT_EQ(rows.usage().mapped_bytes, 0U);
    }
    topology::refresh();
    platform::stand_in_for_page_calls(nullptr);
    platform::stand_in_for_address_space(nullptr);
  }
}

TEST(domain_resource, a_made_up_node_without_memory_is_refused_as_a_kernel_does) {
  const virtual_machine less(topology::testing::fixture("memory_less"));
  domain_resource spilling(node_index{1});
  EXPECT_EQ(home_of_a_block(spilling, 1 << 20), nodes{});
  EXPECT_GT(spilling.usage().unplaced_bytes, 0U);
  EXPECT_EQ(spilling.usage().error_number, EINVAL);
  domain_resource strict(node_index{1}, {.when_full = on_full::fail});
  EXPECT_THROW(static_cast<void>(strict.allocate(1 << 20)), std::bad_alloc);
  EXPECT_EQ(strict.usage().error_number, EINVAL);
  const std::vector<node_index> named{node_index{0}, node_index{1}};
  interleaved_resource dealt(named, {.when_full = on_full::fail});
  EXPECT_EQ(home_of_a_block(dealt, 64 * page_bytes()), (nodes{{0, 64}}));
}

TEST(allocator, keeps_its_resource_as_long_as_a_container_needs_it) {
  const virtual_machine two("node:2 core:1 pu:1");
  using numbers = std::vector<int, allocator<int>>;
  EXPECT_EQ(said_by([] {
              numbers outer(domain_allocator<int>(domain(0)));
              {
                numbers inner(1000, 5, domain_allocator<int>(domain(1)));
                numbers copy = inner;
                EXPECT_EQ(copy.get_allocator(), inner.get_allocator());
                outer = std::move(inner);  // takes the memory and the resource
                inner = {numbers(3, 4, outer.get_allocator())};
                swap(copy, inner);
              }
              EXPECT_EQ(on_nodes(where(memory_range(outer))).begin()->first, 1);
              EXPECT_EQ(outer.size(), 1000U);
              std::deque<int, allocator<int>> rebound(outer.begin(), outer.end(), outer.get_allocator());
              EXPECT_EQ(rebound.back(), 5);
            }),
            "");
  allocator<three> a = local_allocator<three>();
  EXPECT_THROW(static_cast<void>(a.allocate(SIZE_MAX / 2)), std::bad_array_new_length);
  const std::vector<double, allocator<double>> x(5000, distributed_allocator<double>(block(5000, domain_set::all())));
  EXPECT_EQ(on_nodes(where(memory_range(x))), (nodes{{0, 5}, {1, 5}}));
  const std::vector<int, allocator<int>> dealt(4096, interleaved_allocator<int>());
  EXPECT_GE(on_nodes(where(memory_range(dealt))).size(), 2U);
  EXPECT_DEATH(allocator<int>(nullptr), "allocator: no resource");
}

TEST(memory_resource, wrong_homes_are_the_programmers) {
  EXPECT_DEATH(domain_resource{domain(99)}, "domain_resource: the current machine has no such domain");
  EXPECT_DEATH(domain_resource{node_index{99}}, "the current machine has no such node");
  EXPECT_DEATH((distributed_resource(block(1, domain_set::first(1)), 0)), "elements of 0 bytes");
}

// --- the real kernel -----------------------------------------------------------------------------------

TEST(memory_resource, with_one_node_there_is_no_policy) {
  if (topology::current().memory_node_count() > 1) GTEST_SKIP() << "this computer has several nodes";
  domain_resource near(domain(0));
  local_resource local({.when_full = on_full::fail});
  interleaved_resource dealt;
  distributed_resource rows(block(100000), 8);
  std::pmr::memory_resource* const all[] = {&near, &local, &dealt, &rows};
  for (std::pmr::memory_resource* const r : all) {
    void* const block = r->allocate(4 << 20);
    static_cast<char*>(block)[0] = 1;
    const std::size_t page = page_bytes();
    EXPECT_EQ(list({static_cast<std::byte*>(block) - page, 2 * page}).policy.find("prefer"), std::string::npos);
    r->deallocate(block, 4 << 20);
  }
  EXPECT_EQ(near.usage().error_number, 0);
}

TEST(memory_resource, the_kernel_is_told_and_what_it_refuses_is_told) {
  if (!two_node_claim::is_possible()) GTEST_SKIP() << "needs one node, and CPUs 0 and 1";
  const two_node_claim claim;  // node 1 is not known to the kernel
  domain_resource here(domain(0), {.when_full = on_full::fail});
  auto* const block = static_cast<char*>(here.allocate(100));
  if (here.usage().error_number == 0) {
    EXPECT_EQ(on_nodes(where({block, 100})), (nodes{{0, 1}})) << "touched and seen before it was handed out";
  }
  here.deallocate(block, 100);
  domain_resource lenient(domain(1));
  void* const spilled = lenient.allocate(100);
  EXPECT_EQ(lenient.usage().unplaced_bytes, std::size_t{2} << 20);
  EXPECT_EQ(lenient.usage().error_number, EINVAL);
  lenient.deallocate(spilled, 100);
  domain_resource strict(domain(1), {.when_full = on_full::fail});
  EXPECT_THROW(static_cast<void>(strict.allocate(100)), std::bad_alloc);
  EXPECT_EQ(strict.usage().mapped_bytes, 0U);
  distributed_resource rows(homing::block(100000), 8);
  void* const spread = rows.allocate(800000);
  EXPECT_GT(rows.usage().unplaced_bytes, 0U);
  EXPECT_EQ(rows.usage().error_number, EINVAL);
  rows.deallocate(spread, 800000);
  distributed_resource strict_rows(homing::block(100000), 8, {.when_full = on_full::fail});
  EXPECT_THROW(static_cast<void>(strict_rows.allocate(800000)), std::bad_alloc);
  EXPECT_EQ(strict_rows.usage().mapped_bytes, 0U);
}

TEST(memory_resource, huge_pages_are_asked_for) {
  domain_resource huge(domain(0), {.pages = page_kind::huge});
  const std::size_t bytes = std::size_t{8} << 20;
  auto* const block = static_cast<char*>(huge.allocate(bytes));
  std::memset(block, 1, bytes);
  std::ifstream smaps("/proc/self/smaps");
  bool is_advised = false;
  bool is_mine = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) {
      const auto at = reinterpret_cast<std::uintptr_t>(block);
      is_mine = first <= at && at < last;
    }
    if (is_mine && line.starts_with("VmFlags:")) is_advised = line.find(" hg") != std::string::npos;
  }
  EXPECT_TRUE(is_advised || huge.usage().error_number != 0) << "advised, or said that it could not be";
  huge.deallocate(block, bytes);
}

TEST(memory_resource, in_a_sandbox_threads_of_the_home_touch_the_pages) {
  if (!two_node_claim::is_possible()) GTEST_SKIP() << "needs one node, and CPUs 0 and 1";
  in_sandbox(docker, [](int) {
    const two_node_claim claim;
    domain_resource here(domain(0), {.when_full = on_full::fail});
    void* const block = here.allocate(100);
    EXPECT_EQ(on_nodes(where({block, 100})), (nodes{{0, 1}}));
    EXPECT_EQ(here.usage().unplaced_bytes, 0U);
    here.deallocate(block, 100);
    domain_resource strict(domain(1), {.when_full = on_full::fail});
    EXPECT_THROW(static_cast<void>(strict.allocate(100)), std::bad_alloc) << "numa_maps tells that it is on node 0";
  });
}

// Their fresh regions touch, and the kernel would make one mapping of them.
TEST(memory_resource, in_a_sandbox_regions_of_several_threads_are_counted_apart) {
  if (!two_node_claim::is_possible()) GTEST_SKIP() << "needs one node, and CPUs 0 and 1";
  in_sandbox(docker, [](int) {
    constexpr std::size_t bytes = std::size_t{2} << 20;
    const two_node_claim claim;
    domain_resource here(domain(0), {.when_full = on_full::fail});
    std::vector<std::vector<void*>> blocks(4);
    std::vector<std::thread> threads;
    for (auto& mine : blocks) {
      threads.emplace_back([&] {
        for (int i = 0; i < 8; ++i) EXPECT_NO_THROW(mine.push_back(here.allocate(bytes)));
      });
    }
    for (std::thread& t : threads) t.join();
    for (const auto& mine : blocks) {
      for (void* const block : mine) {
        EXPECT_EQ(list({block, bytes}).on.size(), 0U) << "no mapping begins there: they are one again";
        EXPECT_EQ(where({block, bytes}).on(node_id{0}), bytes / page_bytes());
        here.deallocate(block, bytes);
      }
    }
  });
}

}  // namespace
