/// Property: a machine is cut to what the process may use, and says what was cut by what.
/// Method: machines claimed to be this computer, with a mask, memory nodes and a quota of our choice;
/// and this computer itself under a mask really set in a child process.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/cpu_set.hpp"
#include "topology/environment.hpp"
#include "topology/facts.hpp"
#include "unit/common/sandbox.hpp"
#include "unit/common/topology_fixture.hpp"

namespace homing::topology::testing {
namespace {

const source four_nodes{.from = source::origin::synthetic, .text = "node:4 core:4 pu:1"};

platform::cpu_set mask(const char* list) { return *platform::cpu_set::parse_list(list); }

TEST(affinity, leaves_domains_with_usable_cpus_only) {
  const auto m = read_or_fail(claimed(four_nodes, {.mask = mask("1-2,8-11,200")}));
  EXPECT_FALSE(m->is_virtual());
  EXPECT_EQ(nodes_of(*m), (ints{0, 2}));
  EXPECT_EQ(numbers(m->at(at(0)).cpus), (ints{1, 2}));
  EXPECT_EQ(m->at(at(1)).binding.list(), "8-11");
  EXPECT_EQ(m->usable_cpus(), 6U);
  EXPECT_EQ(m->cut().cut_by_affinity, 10U);
  EXPECT_EQ(m->domain_of_cpu(cpu_id{9}), at(1));
  EXPECT_FALSE(m->domain_of_cpu(cpu_id{4})) << "CPU of another process";
  EXPECT_FALSE(m->domain_of_cpu(cpu_id{100000}));
  EXPECT_FALSE(m->domain_of_cpu(cpu_id{-1}));
  EXPECT_EQ(std::vector(m->numa_ids().begin(), m->numa_ids().end()), (ints{0, 2}));
}

TEST(affinity, that_leaves_nothing_of_a_claimed_machine_is_ignored) {
  const auto m = read_or_fail(claimed(four_nodes, {.mask = mask("64-65")}));
  EXPECT_TRUE(m->cut().mask_ignored);
  EXPECT_TRUE(m->is_virtual()) << "its CPUs can't be this computer's";
  EXPECT_EQ(m->usable_cpus(), 16U);
  EXPECT_EQ(m->at(at(0)).binding.list(), "64-65");
}

TEST(affinity, that_is_ignored_leaves_memory_alone_too) {
  const source odd{.from = source::origin::synthetic, .text = "node:4(indexes=3,60,61,62) pu:1(indexes=9,8,7,6)"};
  const auto m = read_or_fail(claimed(odd, {.mask = mask("64-65")}));
  EXPECT_TRUE(m->is_virtual());
  EXPECT_TRUE(m->cut().forbidden_memory.empty()) << "this computer's memory nodes are not this machine's";
}

TEST(cpuset, cuts_what_the_description_disallows) {
  const auto m = fixture("cpuset");
  EXPECT_EQ(nodes_of(*m), (ints{0, 1}));
  EXPECT_EQ(numbers(m->at(at(0)).cpus), (ints{1}));
  EXPECT_EQ(m->cut().cut_by_cpuset, 3U);
  EXPECT_EQ(m->cut().machine_cpus, 6U);
  EXPECT_FALSE(m->at(at(1)).has_memory) << "CPUs whose node's memory is forbidden";
  EXPECT_EQ(m->at(at(1)).memory_node, node_id{0});
}

TEST(memory_nodes, are_cut_apart_from_cpus) {
  const auto m = read_or_fail(
      claimed(four_nodes, {.mask = mask("0-15"), .memory_nodes = platform::node_set{node_id{1}, node_id{2}}}));
  EXPECT_EQ(m->domains().size(), 4U);
  EXPECT_EQ(m->at(at(3)).memory_node, node_id{1});
  EXPECT_EQ(m->at(at(2)).memory_node, node_id{2});
  EXPECT_EQ(m->cut().forbidden_memory, (std::vector{node_id{0}, node_id{3}}));
}

TEST(quota, bounds_concurrency_and_is_rounded_up) {
  const auto with_quota = [](double cpus) {
    return read_or_fail(claimed(four_nodes, {.mask = mask("0-15"), .quota_cpus = cpus}));
  };
  EXPECT_EQ(with_quota(0.5)->default_concurrency(), 1U);
  EXPECT_EQ(with_quota(2.0)->default_concurrency(), 2U);
  EXPECT_EQ(with_quota(2.01)->default_concurrency(), 3U);
  EXPECT_EQ(with_quota(1e300)->default_concurrency(), 16U);
  EXPECT_EQ(with_quota(0)->default_concurrency(), 16U) << "no quota";
  const auto m = with_quota(2.5);
  EXPECT_EQ(m->usable_cpus(), 16U);
  EXPECT_EQ(m->concurrency({.numa_id = 1}), 3U);
  EXPECT_EQ(m->cut().quota_cpus, 2.5);
}

TEST(quota, does_not_cut_a_virtual_machine) {
  source from = four_nodes;
  from.limits.quota_cpus = 1.0;
  EXPECT_EQ(read_or_fail(from)->default_concurrency(), 16U);
}

// The rest looks at the real machine: hwloc's own variables must not stand in for it.
class real_machine : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HOMING_TOPOLOGY", "HOMING_DOMAIN", "HWLOC_SYNTHETIC", "HWLOC_XMLFILE", "HWLOC_FSROOT"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(real_machine, holds_the_cpus_of_the_mask) {
  const auto own = platform::get_affinity(::getpid());
  ASSERT_TRUE(own.ok());
  const auto m = read_or_fail({});
  EXPECT_FALSE(m->is_virtual());
  EXPECT_EQ(m->usable_cpus(), own.mask.count());
  EXPECT_LE(m->default_concurrency(), m->usable_cpus());
  EXPECT_GE(m->default_concurrency(), 1U);
  platform::cpu_set bound;
  for (const domain& d : m->domains()) bound |= d.binding;
  EXPECT_EQ(bound, own.mask);
  const auto here = m->domain_of_cpu(platform::current_cpu());
  ASSERT_TRUE(here);
  EXPECT_LT(to_index(*here), m->domains().size());
}

TEST_F(real_machine, a_mask_that_cannot_be_read_takes_no_cpu) {
  const platform::cpu_set mask = platform::get_affinity(::getpid()).mask;
  homing::testing::in_sandbox({SYS_sched_getaffinity}, [&](int) {
    const auto m = read_or_fail({});
    EXPECT_EQ(m->usable_cpus(), mask.count()) << "/proc/self/status says it, too";
    EXPECT_TRUE(m->cut().mask_known);
    EXPECT_NE(m->cut().mask_refused, 0);
    EXPECT_NE(m->describe().find("the affinity mask can't be read (sched_getaffinity: E"), std::string::npos);
    EXPECT_EQ(one_domain()->usable_cpus(), mask.count());
    EXPECT_EQ(m->at(at(0)).binding, platform::set_affinity(0, m->at(at(0)).binding).mask) << "binding still works";
  });
}

TEST_F(real_machine, a_mask_that_nobody_knows_leaves_all_cpus) {
  machine_facts facts;
  facts.this_system = true;
  facts.nodes.push_back({node_id{0}, true, true, 0});
  for (int cpu = 0; cpu < 4; ++cpu) facts.cpus.push_back({cpu_id{cpu}, 0, -1, -1, -1, 0, true});
  given_limits given;
  given.mask = platform::cpu_set{};  // as where /proc can't be read either
  const auto m = build(facts, domain_kind::node, given).value;
  ASSERT_TRUE(m);
  EXPECT_EQ(m->usable_cpus(), 4U);
  EXPECT_EQ(m->cut().cut_by_affinity, 0U);
  EXPECT_FALSE(m->cut().mask_known);
}

TEST_F(real_machine, without_hwloc_is_one_domain_with_the_mask) {
  const auto m = one_domain();
  ASSERT_EQ(m->domains().size(), 1U);
  EXPECT_EQ(m->at(at(0)).binding, platform::get_affinity(::getpid()).mask);
  EXPECT_TRUE(m->domain_of_cpu(platform::current_cpu()));
  EXPECT_EQ(std::vector(m->core_type_ids().begin(), m->core_type_ids().end()), (ints{0}));
}

TEST_F(real_machine, a_narrowed_mask_cuts_it) {
  const cpu_id first = platform::get_affinity(::getpid()).mask.ids().front();
  EXPECT_EXIT(
      {
        const auto set = platform::set_affinity(::getpid(), {first});
        const read_result result = read({});
        const bool cut = set.ok() && result.value && result.value->usable_cpus() == 1 &&
                         result.value->default_concurrency() == 1 && result.value->domains().size() == 1 &&
                         result.value->domains()[0].binding == platform::cpu_set{first};
        ::_exit(cut ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace homing::topology::testing
