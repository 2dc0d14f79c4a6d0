/// Property: a made-up machine becomes the domains that its description says, whatever its shape.
/// Method: synthetic machines of 1 to 8 nodes and XML machines that break each usual assumption.

#include <cstdio>
#include <fstream>
#include <iterator>

#include "topology/facts.hpp"
#include "unit/common/temporary_path.hpp"
#include "unit/common/topology_fixture.hpp"

namespace homing::topology::testing {
namespace {

class regular : public ::testing::TestWithParam<unsigned> {};

TEST_P(regular, each_node_is_a_domain_with_its_cpus) {
  const unsigned count = GetParam();
  const auto m = synthetic("node:" + std::to_string(count) + " core:2 pu:1");
  ASSERT_EQ(m->domains().size(), count);
  EXPECT_EQ(m->usable_cpus(), 2 * count);
  EXPECT_EQ(m->default_concurrency(), 2 * count) << "no real limit cuts a made-up machine";
  EXPECT_TRUE(m->is_virtual());
  EXPECT_EQ(m->numa_ids().size(), count);
  for (unsigned d = 0; d < count; ++d) {
    EXPECT_EQ(numbers(m->at(at(d)).cpus), (ints{static_cast<int>(2 * d), static_cast<int>(2 * d + 1)}));
    EXPECT_EQ(m->distance(at(d), at(d)), 10U);
    EXPECT_FALSE(m->at(at(d)).binding.empty());
    EXPECT_TRUE(m->at(at(d)).has_memory);
  }
  EXPECT_FALSE(m->domain_of_cpu(cpu_id{0})) << "real CPUs have no place on a virtual machine";
}

TEST_P(regular, neighbours_start_at_home_and_ties_are_rotated) {
  const unsigned count = GetParam();
  const auto m = synthetic("node:" + std::to_string(count) + " core:1 pu:1");
  for (unsigned from = 0; from < count; ++from) {
    counts expected;
    for (unsigned step = 0; step < count; ++step) expected.push_back((from + step) % count);
    EXPECT_EQ(order_from(*m, from), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(nodes, regular, ::testing::Values(1, 2, 4, 8));

TEST(binding, virtual_domains_are_dealt_round_robin_over_real_cpus) {
  source from{.from = source::origin::synthetic, .text = "node:4 core:1 pu:1"};
  from.limits.mask = platform::cpu_set{cpu_id{3}, cpu_id{5}};
  const auto m = read_or_fail(from);
  EXPECT_EQ(m->at(at(0)).binding.list(), "3");
  EXPECT_EQ(m->at(at(1)).binding.list(), "5");
  EXPECT_EQ(m->at(at(2)).binding.list(), "3");
  EXPECT_EQ(m->usable_cpus(), 4U) << "the mask says where to run, not how large the machine is";
}

TEST(shapes, unequal_nodes_with_sparse_ids_and_asymmetric_distances) {
  const auto m = fixture("unequal");
  EXPECT_EQ(nodes_of(*m), (ints{0, 2, 5}));
  EXPECT_EQ(numbers(m->at(at(0)).cpus), (ints{0, 1, 2, 33}));
  EXPECT_EQ(numbers(m->at(at(2)).cpus), (ints{100}));
  EXPECT_EQ(m->distance(at(0), at(1)), 21U);
  EXPECT_EQ(m->distance(at(1), at(0)), 31U);
  EXPECT_EQ(m->distance(at(1), at(2)), 255U);
  EXPECT_EQ(order_from(*m, 0), (counts{0, 2, 1}));
  EXPECT_EQ(order_from(*m, 1), (counts{1, 0, 2})) << "unreachable comes last";
}

TEST(shapes, a_node_without_memory_takes_it_from_the_nearest) {
  const auto m = fixture("memory_less");
  ASSERT_EQ(nodes_of(*m), (ints{0, 1, 2}));
  EXPECT_FALSE(m->at(at(1)).has_memory);
  EXPECT_EQ(m->at(at(1)).memory_node, node_id{2});
  EXPECT_EQ(m->at(at(0)).memory_node, node_id{0});
  EXPECT_EQ(m->cut().nodes_without_memory, std::vector{node_id{1}});
}

TEST(shapes, a_node_without_cpus_is_no_domain) {
  const auto m = fixture("memory_tier");
  EXPECT_EQ(nodes_of(*m), (ints{0, 1}));
  EXPECT_EQ(numbers(m->at(at(0)).cpus), (ints{0, 1})) << "not those of the fast memory beside it";
  EXPECT_EQ(m->cut().nodes_without_cpus, (std::vector{node_id{2}, node_id{3}}));
  EXPECT_EQ(std::vector(m->numa_ids().begin(), m->numa_ids().end()), (ints{0, 1}));
}

TEST(shapes, cpus_that_no_node_has_keep_a_domain_of_their_own) {
  const auto m = fixture("node_left_out");
  ASSERT_EQ(m->domains().size(), 2U);
  EXPECT_EQ(numbers(m->at(at(1)).cpus), (ints{2, 3}));
  EXPECT_FALSE(m->at(at(1)).has_memory);
  EXPECT_EQ(m->at(at(1)).memory_node, node_id{0});
  EXPECT_EQ(m->distance(at(1), at(0)), 20U);
  EXPECT_EQ(m->usable_cpus(), 4U);
  EXPECT_FALSE(m->at(at(0)).nodeless);
  EXPECT_TRUE(m->at(at(1)).nodeless);
  EXPECT_NE(m->describe().find("domain 1: no node, socket 1"), std::string::npos) << "node 0 is not shown twice";
}

// The captures' names are those of hwloc's own tests.
TEST(captured, memory_is_what_hwloc_puts_beside_the_cpus) {
  const auto persistent = fixture("captured/fakememinitiators-1np2c+1npp+gi");
  const std::vector<int> nodes = {0, 1, 2, 3};  // no memory of their own, and distances that mislead
  const std::vector<int> memory = {5, 8, 6, 9};
  EXPECT_EQ(nodes_of(*persistent), nodes);
  for (unsigned d = 0; d < memory.size(); ++d) {
    EXPECT_EQ(static_cast<int>(persistent->at(at(d)).memory_node), memory[d]) << d;
  }
  const auto tiers = fixture("captured/fakeheteromemtiers");
  EXPECT_EQ(nodes_of(*tiers), (ints{0, 1, 2})) << "DRAM, and HBM where there is no DRAM";
}

TEST(captured, memory_beside_the_cpus_comes_before_a_smaller_distance) {
  const auto m = fixture("memory_beside");
  EXPECT_EQ(m->at(at(1)).memory_node, node_id{2}) << "node 0 is said to be nearer, but node 2 is beside CPUs 2 and 3";
  EXPECT_EQ(m->nodes()[1].nearest_memory, node_index{2});
}

TEST(captured, cpus_of_a_node_that_is_switched_off_are_in_no_node) {
  const auto m = fixture("captured/offline-cpu0-node0");
  ASSERT_EQ(m->domains().size(), 2U);
  EXPECT_NE(m->at(at(0)).nodeless, m->at(at(1)).nodeless) << "node 1 is one domain";
  EXPECT_EQ(m->at(at(0)).memory_node, node_id{1});
  EXPECT_EQ(m->at(at(1)).memory_node, node_id{1});
}

TEST(shapes, a_node_without_cpus_and_memory_is_no_tier) {
  const auto m = synthetic("pack:1 [numa(memory=1GB)] [numa(memory=0)] core:2 pu:1");
  ASSERT_EQ(m->nodes().size(), 2U);
  EXPECT_EQ(m->cut().nodes_without_memory.size(), 1U);
  EXPECT_TRUE(m->cut().nodes_without_cpus.empty());
  EXPECT_EQ(m->describe().find("memory only"), std::string::npos) << m->describe();
}

TEST(shapes, distances_in_another_unit_are_brought_to_ten_for_local) {
  const auto m = fixture("nanoseconds");
  EXPECT_EQ(m->distance(at(0), at(1)), 16U);
  EXPECT_EQ(m->distance(at(1), at(0)), 17U);
  EXPECT_EQ(m->distance(at(1), at(1)), 10U);
}

TEST(shapes, more_than_1024_cpus) {
  const auto m = synthetic("node:8 core:256 pu:1");
  EXPECT_EQ(m->usable_cpus(), 2048U);
  EXPECT_EQ(m->at(at(7)).cpus.back(), cpu_id{2047});
  EXPECT_EQ(m->concurrency({.numa_id = 7}), 256U);
}

TEST(kinds, l3_groups_are_inside_a_node_or_domains_on_request) {
  const auto by_node = fixture("l3_groups");
  ASSERT_EQ(by_node->domains().size(), 2U);
  ASSERT_EQ(by_node->at(at(1)).l3_groups.size(), 2U);
  EXPECT_EQ(numbers(by_node->at(at(1)).l3_groups[1]), (ints{12, 13, 14, 15}));
  const auto by_l3 = fixture("l3_groups", domain_kind::l3);
  EXPECT_EQ(nodes_of(*by_l3), (ints{0, 0, 1, 1}));
  EXPECT_EQ(by_l3->distance(at(0), at(1)), 10U) << "the same node's memory";
  EXPECT_EQ(by_l3->distance(at(0), at(2)), 21U);
  EXPECT_EQ(order_from(*by_l3, 3), (counts{3, 2, 0, 1}));
  EXPECT_EQ(std::vector(by_l3->numa_ids().begin(), by_l3->numa_ids().end()), (ints{0, 1}));
}

TEST(kinds, a_socket_may_hold_several_nodes) {
  const auto m = synthetic("pack:2 node:2 core:2 pu:1", domain_kind::socket);
  ASSERT_EQ(m->domains().size(), 2U);
  EXPECT_EQ(numbers(m->at(at(1)).cpus), (ints{4, 5, 6, 7}));
  EXPECT_EQ(m->at(at(1)).node, node_id{2});
  EXPECT_EQ(m->numa_ids().size(), 4U);
  EXPECT_EQ(m->allowed_cpus_by_domain({.numa_id = 3}), (counts{0, 2}));
}

TEST(kinds, the_same_socket_comes_before_another_at_equal_distance) {
  const auto m = synthetic("pack:2 node:2 core:1 pu:1");
  EXPECT_EQ(order_from(*m, 1), (counts{1, 0, 2, 3}));
  EXPECT_EQ(order_from(*m, 2), (counts{2, 3, 0, 1}));
}

TEST(kinds, a_socket_with_cpus_of_no_node_has_the_node_of_the_others) {
  machine_facts facts;
  facts.nodes = {{node_id{0}, true, true, 0}, {node_id{1}, true, true, 0}};
  facts.cpus = {{cpu_id{0}, 0, 0, -1, -1, -1, true},
                {cpu_id{1}, -1, 1, -1, -1, -1, true},  // its node is left out
                {cpu_id{2}, 1, 1, -1, -1, -1, true}};
  const auto m = build(facts, domain_kind::socket, {}).value;
  ASSERT_TRUE(m);
  ASSERT_EQ(m->domains().size(), 2U);
  EXPECT_EQ(numbers(m->at(at(1)).cpus), (ints{1, 2}));
  EXPECT_FALSE(m->at(at(1)).nodeless);
  EXPECT_TRUE(m->at(at(1)).has_memory);
  EXPECT_EQ(m->at(at(1)).node, node_id{1});
}

TEST(kinds, an_unknown_kind_falls_back_to_nodes_and_says_so) {
  const auto m = synthetic("node:2 core:2 pu:1", domain_kind::l3);
  EXPECT_EQ(m->kind(), domain_kind::node);
  EXPECT_TRUE(m->cut().kind_unknown);
  EXPECT_EQ(m->domains().size(), 2U);
}

TEST(bad_input, is_an_error_with_a_text) {
  const auto error = [](source::origin from, const std::string& text) {
    const read_result result = read({.from = from, .text = text});
    EXPECT_EQ(result.value, nullptr) << text;
    return result.error;
  };
  for (const char* text : {"", "foo", "node:", "node:-1 pu:1", "node:0 pu:1", "pu:1 node:2", "node:2("}) {
    EXPECT_NE(error(source::origin::synthetic, text), "") << text;
  }
  EXPECT_EQ(error(source::origin::synthetic, "node:100000 core:1000 pu:1"), "more than 4096 CPUs");
  EXPECT_EQ(error(source::origin::synthetic, "node:99999999999999999999 pu:1"), "more than 4096 CPUs");
  EXPECT_EQ(error(source::origin::synthetic, "node:1 core:4097 pu:1"), "more than 4096 CPUs");
  EXPECT_EQ(error(source::origin::synthetic, "node:2048 pu:1"), "more than 1024 nodes");
  EXPECT_EQ(error(source::origin::synthetic, "pack:400 [numa] [numa] [numa] pu:1"), "more than 1024 nodes");
  EXPECT_EQ(read({.from = source::origin::synthetic, .text = "node:2 l3:1000 pu:1", .kind = domain_kind::l3}).error,
            "more than 1024 domains");
  EXPECT_EQ(error(source::origin::synthetic, "node:64\tcore:64\npu:2"), "more than 4096 CPUs");
  for (const char* text : {"node:1 core:0x1400 pu:1", "node:1 core:020000 pu:1", "node:1 core:+5000 pu:1",
                           "node:1core:5000pu:1", "node:5000(memory=1)core:1 pu:1"}) {
    EXPECT_EQ(error(source::origin::synthetic, text), "more than 4096 CPUs") << "as hwloc reads it: " << text;
  }
  for (const char* text :
       {"node:2(indexes=0,0x7ffffff) pu:1", "node:2 pu:1(indexes=1;0)", "node:2(indexes=0,,1) pu:1"}) {
    EXPECT_TRUE(error(source::origin::synthetic, text).ends_with("expected decimal numbers with commas between"))
        << text;
  }
  for (const char* text :
       {"(indexes=core) core:2 pu:1", "(indexes=node:core) node:1 core:2 pu:1", "(memory=1 indexes=core) core:2 pu:1",
        "[numa(indexes=core)] core:2 pu:1", "node:2(indexes=core) core:2 pu:1", "2(indexes=core) core:2 pu:1"}) {
    EXPECT_TRUE(error(source::origin::synthetic, text).ends_with("or decimal numbers with commas between"))
        << text << ": an assertion of hwloc's would end the program";
  }
  for (const char* text : {"node:2 core:2 pu:2(indexes=node:core)", "pack:2 core:2(indexes=pack) pu:2 ",
                           "pack:2 [numa(indexes=package)] core:2 pu:2", "(indexes=0) core:2 pu:1",
                           "core:2 pu:2(indexes=core)[numa]", "node:2 core:2 pu:2(indexes=2*4:1*2)"}) {
    EXPECT_NE(synthetic(text), nullptr) << text;
  }
  EXPECT_EQ(error(source::origin::synthetic, "node:2(indexes=0,0) pu:2"), "two nodes have the index 0");
  EXPECT_EQ(error(source::origin::synthetic, "node:2 pu:2(indexes=0,1,2,1)"),
            "its CPU indexes repeat, which leaves 3 of 4 CPUs");
  EXPECT_EQ(error(source::origin::xml, "-"), "it is stdin, which is the program's");
  for (const char* text :
       {"node:2(indexes=0,4000000000) pu:1", "node:2 pu:2(indexes=3,70000,1,99999999999999999999)"}) {
    EXPECT_EQ(error(source::origin::synthetic, text), "an index is too high: expected 0 to 65535") << text;
  }
  EXPECT_NE(synthetic("node:2(indexes=0,60000 memory=1073741824) pu:1"), nullptr);
  EXPECT_NE(error(source::origin::xml, "/nonexistent/machine.xml"), "");
  EXPECT_EQ(error(source::origin::xml, "/"), "not a file");
  EXPECT_NE(error(source::origin::xml, __FILE__), "") << "a C++ file is no XML";
}

TEST(shapes, machines_up_to_the_bound_are_read) {
  EXPECT_EQ(synthetic("node:1024 core:2 pu:2")->domains().size(), 1024U);
  EXPECT_EQ(synthetic("pack:4 node:2 core:256 pu:2")->usable_cpus(), 4096U);
}

std::string content_of(const std::string& name) {
  std::ifstream in(fixture_path(name));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string problem_of_xml(const std::string& text) {
  const std::string path = homing::testing::temporary_path("indices.xml");
  std::ofstream(path) << text;
  const read_result result = read({.from = source::origin::xml, .text = path});
  std::remove(path.c_str());
  return result.value ? "" : result.error;
}

// The fixture `name` with the first `from` replaced: what is wrong with it.
std::string problem_with(const std::string& name, const std::string& from, const std::string& to) {
  std::string text = content_of(name);
  const std::size_t found = text.find(from);
  EXPECT_NE(found, std::string::npos) << from;
  return problem_of_xml(text.replace(found, from.size(), to));
}

// With an attribute of the last object of a type replaced.
std::string problem_of_object(const std::string& name, const std::string& type, const std::string& attribute,
                              const std::string& with) {
  std::string text = content_of(name);
  const std::size_t object = text.rfind("<object type=\"" + type);
  const std::size_t found = text.find(' ' + attribute + "=\"", object);
  EXPECT_NE(found, std::string::npos) << type << ' ' << attribute;
  const std::size_t value = text.find('"', found) + 1;
  return problem_of_xml(text.replace(found, text.find('"', value) + 1 - found, with));
}

TEST(bad_input, indices_that_no_machine_has_are_refused) {
  const std::string cpu = "type=\"PU\" os_index=\"1\"";
  const std::string node = "type=\"NUMANode\" os_index=\"2\"";
  const std::string socket = "type=\"Package\" os_index=\"1\"";
  EXPECT_EQ(problem_with("unequal", cpu, cpu), "");
  EXPECT_EQ(problem_with("unequal", cpu, "type=\"PU\""), "a CPU has no valid index");
  EXPECT_EQ(problem_with("unequal", node, "type=\"NUMANode\""), "a node has no valid index");
  for (const char* index : {"-1", "4294967295"}) {
    const std::string with = std::string("\" os_index=\"") + index + '"';
    EXPECT_EQ(problem_with("unequal", cpu, "type=\"PU" + with), "a CPU has no valid index");
    EXPECT_EQ(problem_with("unequal", node, "type=\"NUMANode" + with), "a node has no valid index");
    EXPECT_EQ(problem_with("unequal", socket, "type=\"Package" + with), "") << "sockets may be without a number";
  }
  for (const char* index : {"-7", "2147483648", "70000", "99999999999999"}) {
    const std::string with = std::string("\" os_index=\"") + index + '"';
    EXPECT_TRUE(problem_with("unequal", cpu, "type=\"PU" + with).ends_with("expected 0 to 65535"));
    EXPECT_TRUE(problem_with("unequal", node, "type=\"NUMANode" + with).ends_with("expected 0 to 65535"));
  }
  EXPECT_EQ(problem_with("unequal", cpu, "type=\"PU\" os_index=\"2\""), "CPU index 2 and its set don't agree");
  EXPECT_EQ(problem_with("unequal", node, "type=\"NUMANode\" os_index=\"x\""), "node index 0 and its set don't agree");
  EXPECT_EQ(problem_with("unequal", socket, "type=\"Package\" os_index=\"-7\""), "socket index 4294967289 is too high");
}

// hwloc 2.9 reads a null pointer for most of them.
TEST(bad_input, objects_of_a_file_without_one_of_their_sets_are_refused) {
  for (const char* type : {"Machine", "Package", "NUMANode", "Core", "PU"}) {
    for (const char* set : {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"}) {
      for (const char* value : {"", "=\"\"", "=\"no set\""}) {
        const std::string with = *value == '\0' ? "" : ' ' + std::string(set) + value;
        EXPECT_EQ(problem_of_object("memory_less", type, set, with), std::string("a ") + type + " has no valid " + set)
            << value;
      }
    }
    EXPECT_EQ(problem_of_object("memory_less", type, "gp_index", ""), "") << "nobody needs that";
  }
  const std::string core = "<object type=\"Core\"";
  for (const char* before : {"<!-- <object type=\"Core\"> -->", "<object type='Misc' name='a>b'/>"}) {
    // Without libxml, hwloc itself refuses a comment, and other quotes.
    EXPECT_EQ(problem_with("unequal", core, before + core).find("has no valid"), std::string::npos) << before;
  }
}

TEST(drawing, names_domains_distances_and_that_it_is_virtual) {
  const std::string text = fixture("unequal")->describe();
  EXPECT_TRUE(text.starts_with("virtual machine: 3 domains")) << text;
  EXPECT_NE(text.find("node 5, socket 3, 1 CPU: 100"), std::string::npos) << text;
  EXPECT_NE(text.find("    1   31   10  255"), std::string::npos) << text;
}

}  // namespace
}  // namespace homing::topology::testing
