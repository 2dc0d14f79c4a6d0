// The public snapshot says what the machine behind it has, on made-up machines, and stays as it is while others
// refresh; a thread's domain is the one it is bound to, or dealt in proportion.
#include <homing/topology.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <thread>

#include "platform/cpu_set.hpp"
#include "topology/snapshot.hpp"
#include "unit/common/topology_fixture.hpp"

namespace {

using homing::cpu_id;
using homing::domain_index;
using homing::node_id;
using homing::node_index;
using homing::to_number;
using namespace homing::topology;
using homing::topology::testing::fixture_path;
using homing::topology::testing::ints;

snapshot read_snapshot(source from) {
  from.wanted = source::figures::all;
  return make_snapshot(homing::topology::testing::read_or_fail(from));
}
snapshot fixture_snapshot(const std::string& name) {
  return read_snapshot({.from = source::origin::xml, .text = fixture_path(name)});
}
snapshot synthetic_snapshot(const std::string& text) {
  return read_snapshot({.from = source::origin::synthetic, .text = text});
}
domain_index domain(unsigned i) { return static_cast<domain_index>(i); }
node_index node(unsigned i) { return static_cast<node_index>(i); }

/// Makes a machine current, and the real one again.
struct current_for_a_while {
  explicit current_for_a_while(const snapshot& machine) { set_current(machine); }
  ~current_for_a_while() { refresh(); }
};

TEST(snapshot, sparse_ids_become_dense_and_distances_keep_both_directions) {
  const snapshot m = fixture_snapshot("unequal");
  ASSERT_EQ(m.domains().size(), 3U);
  ASSERT_EQ(m.nodes().size(), 3U);
  const int ids[] = {0, 2, 5};
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(m.domains()[i].index, domain(i));
    EXPECT_EQ(m.at(domain(i)).node, node(i));
    EXPECT_EQ(m.at(node(i)).index, node(i));
    EXPECT_EQ(to_number(m.at(node(i)).id), ids[i]);
    EXPECT_EQ(m.find(node_id{ids[i]}), node(i));
    EXPECT_EQ(m.memory_id(domain(i)), node_id{ids[i]});
    EXPECT_EQ(m.at(node(i)).memory_bytes, 1024ULL << 20);
  }
  EXPECT_FALSE(m.find(node_id{1}));
  EXPECT_EQ(homing::topology::testing::numbers(m.at(domain(1)).cpus), (ints{64, 65}));
  EXPECT_EQ(homing::topology::testing::numbers(m.at(node(0)).cpus), (ints{0, 1, 2, 33}));
  EXPECT_TRUE(m.distances_known());
  EXPECT_EQ(m.distance(node(0), node(1)), 21U);
  EXPECT_EQ(m.distance(node(1), node(0)), 31U);
  EXPECT_EQ(m.distance(domain(1), domain(2)), 255U);
  EXPECT_EQ(m.nearest_first(domain(0))[1], domain(2));
  EXPECT_EQ(m.memory_node_count(), 3U);
  EXPECT_TRUE(m.is_virtual());
}

TEST(snapshot, a_memory_less_node_has_the_memory_of_its_nearest) {
  const snapshot m = fixture_snapshot("memory_less");
  EXPECT_EQ(m.at(node(1)).memory, node_memory::absent);
  EXPECT_EQ(m.at(node(1)).memory_bytes, 0U);
  EXPECT_EQ(m.at(node(1)).nearest_memory, node(2));
  EXPECT_EQ(m.at(node(0)).nearest_memory, node(0));
  EXPECT_EQ(m.at(domain(1)).node, node(1));
  EXPECT_EQ(m.at(domain(1)).memory_node, node(2));
  EXPECT_EQ(m.memory_id(domain(1)), node_id{2});
  EXPECT_FALSE(m.at(node(1)).is_tier);
  EXPECT_EQ(m.memory_node_count(), 2U);
  ASSERT_EQ(m.cut().nodes_without_memory.size(), 1U);
}

TEST(snapshot, memory_without_cpus_is_a_tier_and_no_domain) {
  const snapshot m = fixture_snapshot("memory_tier");
  ASSERT_EQ(m.nodes().size(), 4U);
  EXPECT_EQ(m.domains().size(), 2U);
  for (const unsigned tier : {2U, 3U}) {
    EXPECT_TRUE(m.at(node(tier)).is_tier);
    EXPECT_TRUE(m.at(node(tier)).cpus.empty());
    EXPECT_EQ(m.at(node(tier)).memory, node_memory::usable);
  }
  EXPECT_FALSE(m.at(node(0)).is_tier);
  EXPECT_EQ(m.at(node(3)).memory_bytes, 512ULL << 20);
}

TEST(snapshot, firmware_figures_are_given_where_the_machine_has_them) {
  const snapshot m = fixture_snapshot("memory_tier");
  using enum memory_attribute;
  EXPECT_EQ(m.attribute(bandwidth_mib_per_s, domain(0), node(0)), 100000U);
  EXPECT_EQ(m.attribute(bandwidth_mib_per_s, domain(1), node(1)), 50000U);
  EXPECT_EQ(m.attribute(bandwidth_mib_per_s, domain(0), node(3)), 400000U);
  EXPECT_FALSE(m.attribute(bandwidth_mib_per_s, domain(1), node(0)));
  EXPECT_EQ(m.attribute(latency_ns, domain(0), node(0)), 90U);
  EXPECT_EQ(m.attribute(latency_ns, domain(1), node(0)), 140U);
  EXPECT_EQ(m.attribute(latency_ns, domain(1), node(2)), 364U);
  EXPECT_FALSE(m.attribute(read_latency_ns, domain(0), node(0)));
  EXPECT_FALSE(fixture_snapshot("unequal").attribute(latency_ns, domain(0), node(0)));
}

TEST(snapshot, a_cpuset_is_cut_and_said) {
  const snapshot m = fixture_snapshot("cpuset");
  EXPECT_EQ(m.domains().size(), 2U);
  EXPECT_EQ(m.cut().machine_cpus, 6U);
  EXPECT_EQ(m.cut().cut_by_cpuset, 3U);
  EXPECT_EQ(m.cut().forbidden_memory, (std::vector<node_id>{node_id{1}, node_id{2}}));
  EXPECT_EQ(m.at(node(1)).memory, node_memory::forbidden);
  EXPECT_EQ(m.at(node(1)).nearest_memory, node(0));
  EXPECT_EQ(m.memory_id(domain(1)), node_id{0});
  EXPECT_FALSE(m.at(node(2)).is_tier) << "its CPUs were cut, but it has some";
  EXPECT_EQ(m.memory_node_count(), 1U);
}

TEST(snapshot, mask_and_quota_are_cut_and_said) {
  const homing::platform::cpu_set mask{cpu_id{0}, cpu_id{64}};
  const snapshot m =
      read_snapshot(homing::topology::testing::claimed({.from = source::origin::xml, .text = fixture_path("unequal")},
                                                       {.mask = mask, .memory_nodes = {}, .quota_cpus = 1.5}));
  EXPECT_FALSE(m.is_virtual());
  EXPECT_EQ(m.domains().size(), 2U);
  EXPECT_EQ(m.cut().cut_by_affinity, 5U);
  EXPECT_EQ(m.cut().quota_cpus, 1.5);
  EXPECT_EQ(m.default_concurrency(), 2U);
  EXPECT_EQ(m.domain_of(cpu_id{64}), domain(1));
  EXPECT_FALSE(m.domain_of(cpu_id{65}));
  EXPECT_FALSE(m.domain_of(cpu_id{-1}));
}

TEST(snapshot, an_index_out_of_range_is_the_programmers) {
  const snapshot m = synthetic_snapshot("node:2 core:2 pu:1");
  EXPECT_DEATH(static_cast<void>(m.at(domain(2))), "homing: topology::snapshot::at: no such domain");
  EXPECT_DEATH(static_cast<void>(m.at(node(2))), "homing: topology::snapshot::at: no such node");
  EXPECT_DEATH(static_cast<void>(m.distance(domain(0), domain(9))), "no such domain");
}

TEST(snapshot, refresh_leaves_what_is_held_and_changes_what_is_current) {
  const snapshot before = current();
  EXPECT_EQ(before, current());
  const auto domains = before.domains();
  ::setenv("HOMING_TOPOLOGY", "node:3 core:2 pu:1", 1);
  const snapshot after = refresh();
  EXPECT_EQ(after, current());
  EXPECT_EQ(after.domains().size(), 3U);
  EXPECT_TRUE(after.is_virtual());
  EXPECT_EQ(before.domains().data(), domains.data());
  ::unsetenv("HOMING_TOPOLOGY");
  EXPECT_EQ(refresh().domains().size(), before.domains().size());
}

TEST(snapshot, many_threads_may_ask_while_one_refreshes) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        const snapshot m = current();
        EXPECT_GE(m.domains().size(), 1U);
        EXPECT_LT(homing::to_index(current_domain()), 4U);
      }
    });
  }
  const snapshot four = synthetic_snapshot("node:4 core:1 pu:1");
  for (int i = 0; i < 50; ++i) set_current(four);
  for (auto& t : threads) t.join();
  refresh();
}

TEST(current_domain, is_that_of_the_cpu_on_a_real_machine) {
  const snapshot m = current();
  for (const domain_info& d : m.domains()) {
    const bound_thread bound(m, d.index);
    ASSERT_EQ(bound.error_number(), 0);
    EXPECT_EQ(current_domain(), d.index);
  }
}

TEST(current_domain, is_dealt_by_cpus_on_a_virtual_machine_and_kept) {
  const current_for_a_while made_up(fixture_snapshot("unequal"));  // 4 + 2 + 1 CPUs
  std::map<domain_index, int> dealt;
  for (int i = 0; i < 14; ++i) {
    std::thread([&] {
      const domain_index mine = current_domain();
      EXPECT_EQ(current_domain(), mine);
      ++dealt[mine];
    }).join();
  }
  EXPECT_EQ(dealt, (std::map<domain_index, int>{{domain(0), 8}, {domain(1), 4}, {domain(2), 2}}));
}

TEST(bound_thread, holds_its_domain_and_gives_the_mask_back_innermost_first) {
  const snapshot m = synthetic_snapshot("node:4 core:2 pu:1");
  const current_for_a_while made_up(m);
  const auto mask = homing::platform::get_affinity().mask;
  {
    const bound_thread outer(m, domain(3));
    EXPECT_EQ(outer.error_number(), 0);
    EXPECT_EQ(current_domain(), domain(3));
    {
      const bound_thread inner(m, domain(1));
      EXPECT_EQ(current_domain(), domain(1));
    }
    EXPECT_EQ(current_domain(), domain(3));
    EXPECT_LE(homing::platform::get_affinity().mask.count(), mask.count());
  }
  EXPECT_EQ(homing::platform::get_affinity().mask, mask);
}

TEST(bound_thread, to_a_domain_that_the_current_machine_lacks_is_no_answer) {
  const snapshot before = synthetic_snapshot("node:4 core:1 pu:1");
  const current_for_a_while smaller(synthetic_snapshot("node:2 core:1 pu:1"));
  EXPECT_LT(homing::to_index(current_domain()), 2U);
  const bound_thread outer(before, domain(3));
  ASSERT_EQ(outer.error_number(), 0);
  EXPECT_LT(homing::to_index(current_domain()), 2U);
  {
    const bound_thread inner(before, domain(1));
    EXPECT_EQ(current_domain(), domain(1));
  }
  EXPECT_LT(homing::to_index(current_domain()), 2U) << "the outer one is back";
  set_current(before);
  EXPECT_EQ(current_domain(), domain(3));
}

TEST(bound_thread, a_refusal_is_a_value) {
  const homing::platform::cpu_set mask{cpu_id{64}};  // a CPU that the computer under the tests does not have
  const snapshot m = read_snapshot(homing::topology::testing::claimed(
      {.from = source::origin::xml, .text = fixture_path("unequal")}, {.mask = mask, .memory_nodes = {}}));
  if (current().domain_of(cpu_id{64})) GTEST_SKIP() << "this computer has a CPU 64";
  const bound_thread bound(m, domain(0));
  EXPECT_EQ(bound.error_number(), EINVAL);
}

}  // namespace
