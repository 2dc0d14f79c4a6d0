// Leases where nobody manages threads: all is granted that is asked for, however much, and on a machine that has become
// another one since. How threads are dealt, beside dealing them one by one.
#include <homing/lease.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "topology/snapshot.hpp"
#include "unit/common/topology_fixture.hpp"

namespace {

using homing::domain_index;
using homing::lease;
namespace topology = homing::topology;

topology::snapshot machine_of(const char* text) { return topology::make_snapshot(topology::testing::synthetic(text)); }

TEST(unmanaged_lease, is_renewed_on_a_machine_that_was_read_anew) {
  topology::set_current(machine_of("node:2 core:2 pu:1"));
  lease threads(4);
  ASSERT_FALSE(threads.is_managed());
  const topology::snapshot larger = machine_of("node:64 core:1 pu:1");
  topology::set_current(larger);
  {
    const topology::bound_thread here(larger, domain_index{63});
    threads.renew();
    EXPECT_EQ(threads.threads(), 4U);
    EXPECT_EQ(threads.domain_count(), 2U);
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_LT(to_index(threads.domain_of(i)), 2U);
  }
  topology::refresh();
}

TEST(unmanaged_lease, of_very_many_threads_is_granted_at_once) {
  topology::set_current(machine_of("node:4 core:3 pu:1"));
  const lease threads(lease::all - 1);
  EXPECT_EQ(threads.threads(), lease::all - 1);
  EXPECT_NEAR(threads.threads_in(domain_index{0}), threads.threads_in(domain_index{3}), 1);
  topology::refresh();
}

// deal_threads() as its comment says it.
std::uint32_t deal_one_by_one(std::uint32_t count, const std::vector<std::uint32_t>& cpus,
                              std::vector<std::uint32_t>& left, std::vector<std::uint32_t>& dealt) {
  for (std::uint32_t given = 0; given != count; ++given) {
    std::size_t best = cpus.size();
    for (std::size_t d = 0; d < cpus.size(); ++d) {
      if (left[d] == 0) continue;
      const auto is_better = [&] {
        const std::uint64_t mine = (dealt[d] + 1) * cpus[best];
        const std::uint64_t its = (dealt[best] + 1) * cpus[d];
        return mine < its || (mine == its && left[d] > left[best]);
      };
      if (best == cpus.size() || is_better()) best = d;
    }
    if (best == cpus.size()) return given;
    ++dealt[best];
    --left[best];
  }
  return count;
}

TEST(deal_threads, in_rounds_as_one_by_one) {
  std::mt19937 random(5);
  const auto below = [&random](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint32_t> cpus(1 + below(4)), left(cpus.size()), dealt(cpus.size());
    for (std::size_t d = 0; d < cpus.size(); ++d) {
      cpus[d] = below(5);
      left[d] = below(2) == 0 ? below(20) : 1000;
      dealt[d] = below(3) == 0 ? below(7) : 0;
    }
    const std::uint32_t count = below(60);
    auto left_by_one = left, dealt_by_one = dealt;
    const std::uint32_t given_by_one = deal_one_by_one(count, cpus, left_by_one, dealt_by_one);
    EXPECT_EQ(homing::detail::deal_threads(count, cpus, left, dealt), given_by_one) << i;
    EXPECT_EQ(dealt, dealt_by_one) << i;
    EXPECT_EQ(left, left_by_one) << i;
  }
}

}  // namespace
