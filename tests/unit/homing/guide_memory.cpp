// The code of docs/guide/memory.md, compiled and run, on a made-up machine of four nodes (tests/tidy/snippets.py holds
// page and program together).
#include <homing/allocator.hpp>
#include <homing/memory_resource.hpp>
#include <homing/placement.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

#include "unit/common/locality_fixture.hpp"

namespace {

struct particle {
  double position[3];
  double speed[3];
};

class guide : public ::testing::Test {
 protected:
  homing::testing::current_machine machine_{homing::testing::machine_of("node:4 core:2 pu:1")};
};

TEST_F(guide, containers_of_a_domain) {
  homing::domain_resource near(homing::domain_index{1});

  std::pmr::vector<particle> particles(1000, &near);
  std::pmr::map<int, std::pmr::string> names(&near);  // also its strings
  names.emplace(7, "allocated in domain 1 if it is long enough to need it");

  EXPECT_EQ(homing::where(homing::memory_range(particles)).on(homing::node_id{1}), 12U);
  EXPECT_EQ(near.usage().live_blocks, 3U);
}

TEST_F(guide, memory_near_whoever_asks) {
  homing::local_resource local;
  std::pmr::vector<int>* list = nullptr;
  std::thread worker([&] { list = new std::pmr::vector<int>(1000, 1, &local); });  // near the worker
  worker.join();
  delete list;  // by another thread: back to the worker's pool

  EXPECT_EQ(local.usage().live_blocks, 0U);
}

TEST_F(guide, arrays_along_a_distribution) {
  const std::size_t n = 1'000'000;
  auto d = homing::block(n, homing::domain_set::all(), homing::elements_per_page<double>());
  homing::distributed_resource rows(d, sizeof(double));

  std::pmr::vector<double> x(n, &rows);
  std::pmr::vector<double> y(n, &rows);  // element i of both is in the same domain

  EXPECT_EQ(homing::verify(d, std::span(x)).share_at_home(), 1.0);
  EXPECT_EQ(homing::verify(d, std::span(y)).share_at_home(), 1.0);
}

TEST_F(guide, choices) {
  homing::memory_options options;
  options.when_full = homing::on_full::fail;     // std::bad_alloc rather than another node's memory
  options.pages = homing::page_kind::huge;       // ask for transparent huge pages
  options.bytes_max = std::size_t{4} << 30;      // never more than 4 GiB from the system
  homing::interleaved_resource shared(options);  // pages dealt over all nodes

  std::pmr::vector<double> table(100'000, &shared);
  const homing::memory_usage u = shared.usage();
  std::printf("%zu blocks, %zu of %zu bytes in use\n", u.live_blocks, u.live_bytes, u.mapped_bytes);
  if (u.unplaced_bytes > 0) std::printf("not placed: %s\n", std::strerror(u.error_number));

  EXPECT_EQ(u.live_blocks, 1U);
  EXPECT_EQ(u.unplaced_bytes, 0U);
}

std::vector<double, homing::allocator<double>> make_field(std::size_t n) {
  return std::vector<double, homing::allocator<double>>(n, homing::distributed_allocator<double>(homing::block(n)));
}

TEST_F(guide, a_container_that_owns_its_resource) {
  const auto field = make_field(100'000);
  EXPECT_GT(homing::where(homing::memory_range(field)).on(homing::node_id{3}), 40U);
}

}  // namespace
