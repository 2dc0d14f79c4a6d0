/// Property: nodes are chosen as numactl writes them; measurements are every pair and every pattern, once; sizes follow
/// the caches and what the nodes have to give. Method: made-up machines, also with a tier and without memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "bandwidth/run.hpp"
#include "measure/plan.hpp"
#include "topology/snapshot.hpp"
#include "topology/source.hpp"
#include "unit/common/topology_fixture.hpp"

namespace homing::measure {
namespace {

using topology::source;
using topology::testing::fixture_path;

topology::snapshot made_up(const std::string& text) {
  const auto origin = text.ends_with(".xml") ? source::origin::xml : source::origin::synthetic;
  const auto machine = topology::read({.from = origin, .text = text});
  EXPECT_TRUE(machine.value) << machine.error;
  return topology::make_snapshot(machine.value);
}

class on_made_up_machine : public ::testing::Test {
 protected:
  static plan plan_of(const std::string& machine, const std::string& nodes = "all") {
    topology::set_current(made_up(machine));
    return make_plan(nodes, std::nullopt);
  }
  ~on_made_up_machine() override { topology::refresh(); }

  static std::vector<std::string> labels(const plan& p, const std::vector<bandwidth_figure>& figures) {
    std::vector<std::string> result;
    for (const bandwidth_figure& f : figures) result.push_back(label_of(p, f));
    return result;
  }
  const bandwidth_wishes wishes{{kernel::triad}, 1, page_wish::system, std::nullopt};
};

TEST_F(on_made_up_machine, nodes_are_chosen_as_numactl_writes_them) {
  const auto ids = [](const std::string& nodes) {
    const plan p = plan_of(fixture_path("unequal"), nodes);  // nodes 0, 2 and 5
    EXPECT_EQ(p.error, "") << nodes;
    std::vector<int> result;
    for (const memory_node& m : p.memory_nodes) result.push_back(to_number(m.id));
    return result;
  };
  using list = std::vector<int>;
  EXPECT_EQ(ids("all"), (list{0, 2, 5}));
  EXPECT_EQ(ids("5,0"), (list{0, 5}));
  EXPECT_EQ(ids("+0-1"), (list{0, 2}));
  EXPECT_EQ(ids("!+0"), (list{2, 5}));
  EXPECT_EQ(make_plan("", std::nullopt).error,
            "--nodes: '' is not a list of nodes such as 0-1,3 or all, !0, +0, same, netdev:eth0 (nodes here: 0,2,5)");
}

TEST_F(on_made_up_machine, every_pair_and_every_pattern_is_measured_once) {
  plan p = plan_of("node:3 core:2 pu:1");
  ASSERT_EQ(p.error, "");
  EXPECT_EQ(p.cpu_nodes.at(2).cpus.size(), 2U);
  ASSERT_FALSE(p.notes.empty());
  EXPECT_TRUE(p.notes[0].starts_with("virtual machine")) << p.notes[0];
  const auto figures = list_measurements(p, wishes);
  std::set<std::string> seen;
  for (const std::string& label : labels(p, figures)) EXPECT_TRUE(seen.insert(label).second) << label;
  EXPECT_EQ(figures.size(), 9U + 1 + 3 + 1);
  const auto find = [&](pattern what) {
    return *std::find_if(figures.begin(), figures.end(), [&](const auto& f) { return f.what == what; });
  };
  EXPECT_EQ(find(pattern::all_local).pairs, (std::vector<node_pair>{{0, 0}, {1, 1}, {2, 2}}));
  EXPECT_EQ(find(pattern::all_to_one).pairs, (std::vector<node_pair>{{0, 0}, {1, 0}, {2, 0}}));
  EXPECT_EQ(find(pattern::all_remote).pairs, (std::vector<node_pair>{{0, 1}, {1, 2}, {2, 0}}));
  for (const auto& f : figures) {
    ASSERT_EQ(f.array_bytes.size(), f.pairs.size());
    EXPECT_FALSE(f.same_as);
    EXPECT_EQ(f.why_not, "");
  }
}

TEST_F(on_made_up_machine, one_node_has_nothing_remote_and_nothing_is_measured_twice) {
  plan p = plan_of("node:1 core:2 pu:1");
  const auto figures = list_measurements(p, wishes);
  ASSERT_EQ(figures.size(), 4U);
  EXPECT_FALSE(figures[0].same_as);
  EXPECT_EQ(figures[1].same_as, 0U);
  EXPECT_EQ(figures[2].same_as, 0U);
  EXPECT_EQ(figures[3].why_not, "there is one memory node");
  EXPECT_EQ(figures[2].array_bytes, figures[0].array_bytes);
}

TEST_F(on_made_up_machine, a_tier_is_a_memory_node_and_nobodys_local_one) {
  plan p = plan_of(fixture_path("memory_tier"));
  ASSERT_EQ(p.error, "");
  EXPECT_GT(p.memory_nodes.size(), p.cpu_nodes.size());
  EXPECT_TRUE(std::any_of(p.memory_nodes.begin(), p.memory_nodes.end(), [](const auto& m) { return m.is_tier; }));
  for (const cpu_node& c : p.cpu_nodes) EXPECT_FALSE(p.memory(c.local).is_tier);
}

TEST_F(on_made_up_machine, a_node_without_memory_uses_the_nearest_that_has_some) {
  plan p = plan_of(fixture_path("memory_less"));
  ASSERT_EQ(p.error, "");
  EXPECT_LT(p.memory_nodes.size(), p.cpu_nodes.size());
  for (const cpu_node& c : p.cpu_nodes) {
    EXPECT_EQ(p.memory(c.local).index, p.machine.at(c.index).nearest_memory) << to_number(c.id);
  }
}

TEST_F(on_made_up_machine, cpus_without_a_node_are_not_measured_as_another_nodes) {
  const plan p = plan_of(fixture_path("node_left_out"));
  ASSERT_EQ(p.error, "");
  ASSERT_EQ(p.cpu_nodes.size(), 1U);
  EXPECT_EQ(p.cpu_nodes[0].cpus.size(), p.machine.at(p.cpu_nodes[0].index).cpus.size());
  EXPECT_TRUE(std::any_of(p.notes.begin(), p.notes.end(), [](const std::string& note) {
    return note == "no node has CPUs 2-3: they are not measured";
  }));
}

TEST_F(on_made_up_machine, chosen_nodes_without_memory_or_cpus_are_refused) {
  const plan all = plan_of(fixture_path("memory_tier"));
  for (const memory_node& m : all.memory_nodes) {
    if (!m.is_tier) continue;
    const plan p = make_plan(std::to_string(to_number(m.id)), std::nullopt);
    EXPECT_NE(p.error.find("no CPU that this process may use"), std::string::npos) << p.error;
  }
  EXPECT_NE(make_plan("77", std::nullopt).error.find("--nodes: '77' names node 77, which does not exist"),
            std::string::npos);
  EXPECT_NE(make_plan("all", 60000).error.find("--threads 60000: node"), std::string::npos);
}

TEST_F(on_made_up_machine, arrays_are_four_times_the_caches_and_at_most_what_fits) {
  plan p = plan_of("node:2 core:2 pu:1");
  for (cpu_node& c : p.cpu_nodes) c.cache_bytes = 100U << 20;
  p.available = 64ULL << 30;
  for (memory_node& m : p.memory_nodes) m.available = 3ULL << 30;  // 4/5 of it is room for two sets of three, not more
  EXPECT_EQ(list_measurements(p, wishes)[0].array_bytes.at(0), 400U << 20);
  for (memory_node& m : p.memory_nodes) m.available = 1ULL << 30;
  p.notes.clear();
  const auto figures = list_measurements(p, wishes);
  for (const auto& f : figures) {
    std::vector<std::uint64_t> on(p.memory_nodes.size(), 0);
    for (std::size_t i = 0; i < f.pairs.size(); ++i) on[f.pairs[i].memory] += 3 * f.array_bytes[i];
    for (const std::uint64_t bytes : on) EXPECT_LE(bytes, (1ULL << 30) * 8 / 10);
  }
  EXPECT_FALSE(p.notes.empty()) << "it is said";
  p.notes.clear();
  bandwidth_wishes given = wishes;
  given.array_bytes = 400U << 20;
  EXPECT_TRUE(list_measurements(p, given).empty());
  EXPECT_TRUE(p.error.starts_with("--size: CPU node 0, memory node 0 needs 1.2 GiB of node 0, which has 1 GiB to give"))
      << p.error;
}

TEST_F(on_made_up_machine, nodes_together_get_no_more_than_the_process_may_have) {
  plan p = plan_of("node:4 core:1 pu:1");
  for (cpu_node& c : p.cpu_nodes) c.cache_bytes = 100U << 20;
  p.available = 3ULL << 30;  // room for two sets of three arrays, not for four
  const auto figures = list_measurements(p, wishes);
  for (const auto& f : figures) {
    std::uint64_t all = 0;
    for (const std::uint64_t bytes : f.array_bytes) all += 3 * bytes;
    EXPECT_LE(all, (3ULL << 30) * 8 / 10) << label_of(p, f);
  }
  EXPECT_EQ(figures[0].array_bytes.at(0), 400U << 20) << "a pair fits";
  EXPECT_TRUE(std::any_of(p.notes.begin(), p.notes.end(), [](const std::string& note) {
    return note.find("all-local: arrays cut to 51% of what the caches ask for, to fit into this system") == 0;
  }));
}

}  // namespace
}  // namespace homing::measure
