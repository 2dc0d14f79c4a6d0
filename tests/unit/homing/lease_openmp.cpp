// OpenMP regions on a lease: the team has the lease's size, its threads run in the leased domains when asked to, and
// are as they were afterwards; worksharing works inside. No scheduler manages threads here: a lease grants what is
// asked for.
#include <homing/openmp_lease.hpp>

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <atomic>
#include <vector>

#include "unit/common/own_process.hpp"

namespace {

using homing::lease;
using homing::openmp::binding;
using homing::openmp::team_member;
using homing::testing::in_own_process;
using homing::testing::on_machine;

const homing::testing::environment four_by_two = on_machine("node:4 core:2 pu:1");

TEST(openmp_lease, the_team_has_the_leases_size) {
  in_own_process(four_by_two, [] {
    for (const std::uint32_t wanted : {1U, 3U, 16U, lease::all}) {
      const lease threads(wanted);
      EXPECT_FALSE(threads.is_managed());
      const std::uint32_t size = wanted == lease::all ? 8 : wanted;
      EXPECT_EQ(threads.threads(), size);
      std::vector<std::atomic<int>> seen(size);
      homing::openmp::run(threads, [&](const team_member& member) {
        EXPECT_EQ(member.team, size);
        EXPECT_EQ(member.domain, threads.domain_of(member.number));
        seen[member.number].fetch_add(1);
      });
      for (const auto& s : seen) EXPECT_EQ(s.load(), 1);
    }
  });
}

TEST(openmp_lease, worksharing_inside_does_each_iteration_once) {
  in_own_process(four_by_two, [] {
    const lease threads(6);
    std::vector<std::atomic<int>> done(1000);
    std::atomic<int> singles{0};
    homing::openmp::run(threads, binding::domains, [&](const team_member&) {
#pragma omp for
      for (int i = 0; i < 1000; ++i) done[static_cast<std::size_t>(i)].fetch_add(1);
#pragma omp single
      singles.fetch_add(1);
    });
    for (const auto& d : done) EXPECT_EQ(d.load(), 1);
    EXPECT_EQ(singles.load(), 1);
  });
}

TEST(openmp_lease, bound_threads_are_in_their_domains_and_free_afterwards) {
  in_own_process(four_by_two, [] {
    const lease threads(8);
    const auto mask = [] {
      cpu_set_t set;
      CPU_ZERO(&set);
      sched_getaffinity(0, sizeof set, &set);
      return set;
    };
    std::vector<cpu_set_t> before(8);
    std::vector<homing::domain_index> unbound(8);
    homing::openmp::run(threads, [&](const team_member& member) {
      before[member.number] = mask();
      unbound[member.number] = homing::topology::current_domain();
    });
    homing::openmp::run(threads, binding::domains, [&](const team_member& member) {
      EXPECT_EQ(member.bind_error_number, 0);
      EXPECT_EQ(homing::topology::current_domain(), member.domain);
    });
    homing::openmp::run(threads, [&](const team_member& member) {
      const cpu_set_t after = mask();
      EXPECT_TRUE(CPU_EQUAL(&before[member.number], &after));
      EXPECT_EQ(homing::topology::current_domain(), unbound[member.number]);
    });
  });
}

}  // namespace
