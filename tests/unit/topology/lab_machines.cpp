/// Property: each machine of the lab is read as its file describes it: domains, CPUs, memory, L3 groups, nearest first.
/// Method: lab/machines/*.toml, exported as hwloc XML when this is built; what is irregular is spelt out here.
#include <algorithm>
#include <filesystem>

#include "unit/common/topology_fixture.hpp"

namespace homing::topology::testing {
namespace {

namespace fs = std::filesystem;

std::string path_of(const std::string& name) { return std::string(HOMING_LAB_XML) + "/" + name + ".xml"; }

std::shared_ptr<const machine> lab(const std::string& name, domain_kind kind = domain_kind::node) {
  return read_or_fail({.from = source::origin::xml, .text = path_of(name), .kind = kind});
}

std::vector<std::string> all_names() {
  std::vector<std::string> result;
  for (const auto& entry : fs::directory_iterator(HOMING_LAB_XML)) result.push_back(entry.path().stem());
  std::sort(result.begin(), result.end());
  return result;
}

class each_machine : public ::testing::TestWithParam<std::string> {};

TEST_P(each_machine, has_domains_that_share_out_its_cpus) {
  const auto m = lab(GetParam());
  EXPECT_TRUE(m->is_virtual());
  std::vector<int> cpus;
  for (const domain& d : m->domains()) {
    EXPECT_FALSE(d.cpus.empty());
    const auto own = numbers(d.cpus);
    cpus.insert(cpus.end(), own.begin(), own.end());
  }
  EXPECT_EQ(cpus.size(), m->usable_cpus());
  for (std::size_t i = 0; i != cpus.size(); ++i) EXPECT_EQ(cpus[i], static_cast<int>(i)) << "numbered node after node";
}

TEST_P(each_machine, looks_at_neighbours_by_distance_and_at_itself_first) {
  const auto m = lab(GetParam());
  for (unsigned from = 0; from != m->domains().size(); ++from) {
    const auto order = order_from(*m, from);
    ASSERT_EQ(order.size(), m->domains().size());
    EXPECT_EQ(order.front(), from);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end(), [&](unsigned a, unsigned b) {
      return m->distance(at(from), at(a)) < m->distance(at(from), at(b));
    }));
  }
}

TEST_P(each_machine, has_memory_for_every_domain) {
  const auto m = lab(GetParam());
  for (const domain& d : m->domains()) {
    if (d.has_memory) {
      EXPECT_EQ(d.memory_node, d.node);
      continue;
    }
    const auto lender = std::find_if(m->domains().begin(), m->domains().end(),
                                     [&](const domain& other) { return other.node == d.memory_node; });
    ASSERT_NE(lender, m->domains().end());
    EXPECT_TRUE(lender->has_memory);
  }
}

INSTANTIATE_TEST_SUITE_P(lab, each_machine, ::testing::ValuesIn(all_names()), [](const auto& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(lab_machines, there_are_those_of_the_papers) {
  const auto names = all_names();
  for (const char* name :
       {"westmere", "nehalem-e5520", "bulldozer", "istanbul", "nehalem-ep", "nehalem-ex", "thunderx2"}) {
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;
  }
}

TEST(lab_machines, a_memory_tier_is_no_domain) {
  const auto m = lab("epyc-cxl");
  EXPECT_EQ(nodes_of(*m), (ints{0, 1, 2, 3}));
  EXPECT_EQ(m->cut().nodes_without_cpus, std::vector{node_id{4}});
}

TEST(lab_machines, l3_groups_are_domains_on_request) {
  const auto m = lab("epyc-nps2", domain_kind::l3);
  ASSERT_EQ(m->domains().size(), 8U);
  EXPECT_EQ(numbers(m->at(at(3)).cpus), (ints{6, 7}));
}

TEST(lab_machines, a_node_without_memory_borrows_it) {
  const auto m = lab("memory-less");
  ASSERT_EQ(nodes_of(*m), (ints{0, 1, 2}));
  EXPECT_FALSE(m->at(at(1)).has_memory);
  EXPECT_EQ(m->cut().nodes_without_memory, std::vector{node_id{1}});
  EXPECT_EQ(m->at(at(1)).memory_node, node_id{2}) << "of two as near the next, as Linux does";
}

TEST(lab_machines, unequal_nodes_keep_their_sizes) {
  const auto m = lab("unequal");
  EXPECT_EQ(numbers(m->at(at(0)).cpus).size(), 4U);
  EXPECT_EQ(numbers(m->at(at(1)).cpus).size(), 2U);
  EXPECT_EQ(numbers(m->at(at(2)).cpus).size(), 6U);
}

TEST(lab_machines, a_one_way_ring_is_searched_one_way) {
  const auto m = lab("ring");
  EXPECT_EQ(m->distance(at(0), at(1)), 20U);
  EXPECT_EQ(m->distance(at(1), at(0)), 40U);
  EXPECT_EQ(order_from(*m, 0), (counts{0, 1, 2, 3}));
  EXPECT_EQ(order_from(*m, 2), (counts{2, 3, 0, 1}));
}

TEST(lab_machines, clusters_of_a_socket_come_before_the_other_socket) {
  const auto m = lab("sapphire-rapids-snc4");
  const auto order = order_from(*m, 5);
  ASSERT_EQ(order.size(), 8U);
  for (std::size_t i = 0; i != 4; ++i) EXPECT_GE(order[i], 4U);
}

}  // namespace
}  // namespace homing::topology::testing
