// A child of fork() can place, allocate and look at the machine, whatever its parent's threads were doing with the same
// objects; it ends by itself, or its alarm ends it.
#include <gtest/gtest.h>
#include <homing/memory_resource.hpp>
#include <homing/topology.hpp>

#include <atomic>
#include <thread>

#include "unit/common/forked_child.hpp"

namespace {

using homing::testing::child_can;

bool use(std::pmr::memory_resource& resource) {
  for (const std::size_t bytes : {16U, 5000U, 3U << 20U}) {
    void* const block = resource.allocate(bytes);
    static_cast<char*>(block)[0] = 1;
    resource.deallocate(block, bytes);
  }
  return true;
}

TEST(fork, a_resource_that_others_use_serves_the_child) {
  SKIP_UNDER_TSAN();
  homing::domain_resource resource(static_cast<homing::domain_index>(0));
  std::atomic<bool> over{false};
  const auto allocate_often = [&] {
    while (!over) {
      resource.deallocate(resource.allocate(16), 16);
    }
  };
  std::thread one(allocate_often);
  std::thread two(allocate_often);
  for (unsigned round = 0; round < 300; ++round) {
    ASSERT_TRUE(child_can([&] { return use(resource); })) << "in round " << round;
  }
  over = true;
  one.join();
  two.join();
}

TEST(fork, the_machine_is_there_while_others_read_it_anew) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      homing::topology::refresh();
    }
  });
  for (unsigned round = 0; round < 100; ++round) {
    ASSERT_TRUE(child_can([] { return !homing::topology::refresh().domains().empty(); })) << "in round " << round;
  }
  over = true;
  other.join();
}

}  // namespace
