/// Property: what few files of sysfs say is what hwloc says, but for cores and core types, which come when somebody
/// asks; and where a machine is not plain, the files say nothing.
/// Method: trees of files, this computer, and the lab's machines, in which tests/lab/first_facts.py runs this program.
#include "topology/sysfs_reader.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "topology/environment.hpp"
#include "unit/common/file_tree.hpp"
#include "unit/common/topology_fixture.hpp"

namespace homing::topology::testing {
namespace {

using homing::testing::file_tree;

constexpr int cpu_count = 16;

/// Two sockets of two nodes, each with four CPUs and two L3; CPUs are numbered node by node.
class tree {
 public:
  tree() {
    write("cpu/online", "0-15\n");
    for (const char* list : {"online", "has_cpu", "has_memory"}) write(std::string("node/") + list, "0-3\n");
    for (int node = 0; node < 4; ++node) {
      const std::string folder = "node/node" + std::to_string(node);
      write(folder + "/cpulist", range(4 * node, 4));
      write(folder + "/meminfo", "\nNode 0 MemTotal:       1024 kB\nNode 0 MemFree:        12 kB\n");
      std::string row;
      for (int to = 0; to < 4; ++to) row += to == node ? "10 " : to / 2 == node / 2 ? "16 " : "32 ";
      row.back() = '\n';
      write(folder + "/distance", row);
    }
    for (int cpu = 0; cpu < cpu_count; ++cpu) {
      const std::string folder = "cpu/cpu" + std::to_string(cpu);
      write(folder + "/topology/physical_package_id", std::to_string(cpu / 8) + "\n");
      write(folder + "/topology/package_cpus_list", range(cpu / 8 * 8, 8));
      for (int index = 0; index < 4; ++index) {
        const std::string cache = folder + "/cache/index" + std::to_string(index);
        write(cache + "/level", std::to_string(index == 0 ? 1 : index) + "\n");
        write(cache + "/shared_cpu_list", index == 3 ? range(cpu / 2 * 2, 2) : range(cpu, 1));
      }
    }
  }
  /// Below /sys/devices/system.
  void write(const std::string& path, const std::string& text) const { files_.write(folder_ + path, text); }
  void remove(const std::string& path) const { std::filesystem::remove_all(files_.root() + folder_ + path); }
  [[nodiscard]] std::optional<machine_facts> read() const { return read_sysfs(files_.root()); }

 private:
  static std::string range(int first, int count) {
    const std::string from = std::to_string(first);
    return count == 1 ? from + "\n" : from + "-" + std::to_string(first + count - 1) + "\n";
  }
  const std::string folder_ = "/sys/devices/system/";
  file_tree files_;
};

TEST(few_files, say_which_cpus_share_what) {
  const auto facts = tree().read();
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->this_system && facts->lacks_cores && !facts->made_up);
  ASSERT_EQ(facts->cpus.size(), std::size_t{cpu_count});
  for (int i = 0; i < cpu_count; ++i) {
    const cpu_fact& cpu = facts->cpus[static_cast<std::size_t>(i)];
    EXPECT_EQ(static_cast<int>(cpu.id), i);
    EXPECT_EQ(std::tuple(cpu.node, cpu.package, cpu.l3, cpu.core, cpu.core_type, cpu.allowed),
              std::tuple(i / 4, i / 8, i / 2, -1, -1, true));
    EXPECT_EQ(cpu.near_nodes, ints{i / 4});
  }
  ASSERT_EQ(facts->nodes.size(), 4U);
  EXPECT_EQ(facts->nodes[3].memory_bytes, 1U << 20);
  EXPECT_EQ(facts->distances, (counts{10, 16, 32, 32, 16, 10, 32, 32, 32, 32, 10, 16, 32, 32, 16, 10}));
}

TEST(few_files, of_a_machine_without_an_l3_or_of_an_older_kernel_do_as_well) {
  const tree t;
  for (int cpu = 0; cpu < cpu_count; ++cpu) t.remove("cpu/cpu" + std::to_string(cpu) + "/cache/index3");
  t.remove("cpu/cpu0/topology/package_cpus_list");
  t.write("cpu/cpu0/topology/core_siblings_list", "0-7\n");
  const auto facts = t.read();
  ASSERT_TRUE(facts);
  for (const cpu_fact& cpu : facts->cpus) EXPECT_EQ(cpu.l3, -1);
}

TEST(few_files, say_nothing_of_what_is_not_plain) {
  const std::pair<const char*, std::function<void(const tree&)>> cases[] = {
      {"a node without CPUs", [](auto& t) { t.write("node/has_cpu", "0-2\n"); }},
      {"a node without memory", [](auto& t) { t.write("node/has_memory", "1-3\n"); }},
      {"no list of nodes", [](auto& t) { t.remove("node/online"); }},
      {"no list of CPUs", [](auto& t) { t.remove("cpu/online"); }},
      {"a CPU of no node", [](auto& t) { t.write("node/node3/cpulist", "12-14\n"); }},
      {"a CPU of two nodes", [](auto& t) { t.write("node/node3/cpulist", "11-15\n"); }},
      {"a node's CPU that is switched off", [](auto& t) { t.write("cpu/online", "0-14\n"); }},
      {"memory of no size", [](auto& t) { t.write("node/node1/meminfo", "Node 1 MemTotal: 0 kB\n"); }},
      {"no distances", [](auto& t) { t.remove("node/node2/distance"); }},
      {"too few distances", [](auto& t) { t.write("node/node2/distance", "32 32 10\n"); }},
      {"too many distances", [](auto& t) { t.write("node/node2/distance", "32 32 10 16 16\n"); }},
      {"a node that is not nearest to itself", [](auto& t) { t.write("node/node2/distance", "10 32 10 16\n"); }},
      {"another unit", [](auto& t) { t.write("node/node2/distance", "300 300 100 160\n"); }},
      {"no socket", [](auto& t) { t.write("cpu/cpu8/topology/physical_package_id", "-1\n"); }},
      {"two sockets of one number", [](auto& t) { t.write("cpu/cpu8/topology/physical_package_id", "0\n"); }},
      {"sockets that overlap", [](auto& t) { t.write("cpu/cpu8/topology/package_cpus_list", "7-15\n"); }},
      {"an L3 of two sockets", [](auto& t) { t.write("cpu/cpu6/cache/index3/shared_cpu_list", "6-9\n"); }},
      {"L3s that overlap", [](auto& t) { t.write("cpu/cpu2/cache/index3/shared_cpu_list", "1-3\n"); }},
      {"an L3 at another place", [](auto& t) { t.write("cpu/cpu0/cache/index3/level", "4\n"); }},
      {"an L3 for some", [](auto& t) { t.remove("cpu/cpu4/cache/index3"); }},
      {"no caches at all", [](auto& t) {
         for (int cpu = 0; cpu < cpu_count; ++cpu) t.remove("cpu/cpu" + std::to_string(cpu) + "/cache");
       }}};
  for (const auto& [what, change] : cases) {
    const tree t;
    change(t);
    EXPECT_FALSE(t.read()) << what;
  }
}

class this_computer : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HOMING_TOPOLOGY", "HOMING_DOMAIN", "HWLOC_SYNTHETIC", "HWLOC_XMLFILE"}) ::unsetenv(name);
  }
  static std::shared_ptr<const machine> by(source::figures figures, domain_kind kind) {
    return read_or_fail({.kind = kind, .wanted = figures});
  }
};

auto of(const cpu_fact& cpu) { return std::tuple(cpu.id, cpu.node, cpu.package, cpu.near_nodes); }
auto of(const node_fact& node) { return std::tuple(node.id, node.has_memory, node.memory_bytes); }
auto of(const domain& d) {
  return std::tuple(d.node, d.memory_node, d.cpus, d.binding, d.l3_groups, d.has_memory, d.package, d.nodeless);
}

TEST_F(this_computer, is_told_by_few_files_as_hwloc_tells_it) {
  const auto few = read_sysfs();
  if (!few) GTEST_SKIP() << "not a plain machine";
  const facts_result all = read_facts(source::origin::real, "");
  ASSERT_EQ(all.error, "");
  ASSERT_EQ(few->cpus.size(), all.value.cpus.size());
  for (std::size_t i = 0; i < few->cpus.size(); ++i) EXPECT_EQ(of(few->cpus[i]), of(all.value.cpus[i])) << "CPU " << i;
  ASSERT_EQ(few->nodes.size(), all.value.nodes.size());
  for (std::size_t i = 0; i < few->nodes.size(); ++i) EXPECT_EQ(of(few->nodes[i]), of(all.value.nodes[i]));
  EXPECT_EQ(few->distances, all.value.distances);
}

TEST_F(this_computer, has_the_same_domains_and_the_same_cores_when_somebody_asks) {
  for (const domain_kind kind : {domain_kind::node, domain_kind::l3, domain_kind::socket}) {
    const auto early = by(source::figures::first_task, kind);
    const auto whole = by(source::figures::none, kind);
    ASSERT_EQ(early->domains().size(), whole->domains().size());
    for (unsigned d = 0; d < early->domains().size(); ++d) {
      EXPECT_EQ(of(early->at(at(d))), of(whole->at(at(d))));
      EXPECT_EQ(order_from(*early, d), order_from(*whole, d));
    }
    EXPECT_EQ(early->default_concurrency(), whole->default_concurrency());
    EXPECT_TRUE(std::ranges::equal(early->numa_ids(), whole->numa_ids()));
    EXPECT_TRUE(std::ranges::equal(early->core_type_ids(), whole->core_type_ids()));
    for (const constraints_query& query : {constraints_query{}, constraints_query{.numa_id = early->numa_ids().back()},
                                           constraints_query{.max_threads_per_core = 1},
                                           constraints_query{.core_type = early->core_type_ids().back()}}) {
      EXPECT_EQ(early->concurrency(query), whole->concurrency(query));
      EXPECT_EQ(early->threads_per_core(query), whole->threads_per_core(query));
      EXPECT_EQ(early->allowed_cpus_by_domain(query), whole->allowed_cpus_by_domain(query));
    }
  }
}

TEST_F(this_computer, tells_cores_of_the_cpus_that_were_there_at_first) {
  EXPECT_EXIT(
      {
        const auto early = by(source::figures::first_task, domain_kind::node);
        const cpu_id first = platform::get_affinity(::getpid()).mask.ids().front();
        const auto whole = by(source::figures::none, domain_kind::node);
        const bool narrowed = platform::set_affinity(::getpid(), {first}).ok();
        const constraints_query query{.max_threads_per_core = 1};
        ::_exit(narrowed && early->concurrency(query) == whole->concurrency(query) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace homing::topology::testing
