/// Property: last-level caches, line sizes and a node's free memory are read strictly from the kernel's files.
/// Method: trees of files in the kernel's formats, good and bad, and this computer's own.
#include "platform/caches.hpp"

#include <gtest/gtest.h>

#include "platform/node_memory.hpp"
#include "unit/common/file_tree.hpp"

namespace homing::platform {
namespace {

using homing::testing::file_tree;

void write_cache(const file_tree& tree, int cpu, int index, const char* level, const char* type, const char* size,
                 const char* shared) {
  const std::string folder =
      "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
  tree.write(folder + "level", std::string(level) + "\n");
  tree.write(folder + "type", std::string(type) + "\n");
  tree.write(folder + "size", std::string(size) + "\n");
  tree.write(folder + "shared_cpu_list", std::string(shared) + "\n");
}

cpu_set cpus(const char* list) { return *cpu_set::parse_list(list); }

TEST(caches, of_the_last_level_are_each_told_once) {
  const file_tree tree;
  for (int cpu = 0; cpu < 4; ++cpu) {
    const char* group = cpu < 2 ? "0-1" : "2-3";
    write_cache(tree, cpu, 0, "1", "Data", "48K", std::to_string(cpu).c_str());
    write_cache(tree, cpu, 1, "1", "Instruction", "32K", std::to_string(cpu).c_str());
    write_cache(tree, cpu, 2, "3", "Unified", "32768K", group);
    write_cache(tree, cpu, 3, "2", "Unified", "1024K", std::to_string(cpu).c_str());
  }
  const auto all = last_level_caches(cpus("0-3"), tree.root());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0], (cache{3, 32768U << 10, cpus("0-1")}));
  EXPECT_EQ(all[1], (cache{3, 32768U << 10, cpus("2-3")}));
  EXPECT_EQ(last_level_caches(cpus("1"), tree.root()).size(), 1U) << "whole, also if one CPU of two is asked for";
}

TEST(caches, without_a_third_level_the_second_is_the_last) {
  const file_tree tree;
  write_cache(tree, 7, 0, "1", "Data", "32K", "7");
  write_cache(tree, 7, 1, "2", "Unified", "2M", "7");
  EXPECT_EQ(last_level_caches(cpus("7"), tree.root()).at(0).bytes, 2U << 20);
}

TEST(caches, that_are_not_understood_are_left_out) {
  const file_tree tree;
  EXPECT_TRUE(last_level_caches(cpus("0"), tree.root()).empty()) << "no files";
  write_cache(tree, 0, 0, "3", "Unified", "32768X", "0");
  write_cache(tree, 0, 1, "3", "Unified", "0K", "0");
  write_cache(tree, 0, 2, "x", "Unified", "1024K", "0");
  write_cache(tree, 0, 3, "2", "Unified", "1024K", "");
  EXPECT_TRUE(last_level_caches(cpus("0"), tree.root()).empty());
}

TEST(caches, have_lines_of_a_credible_size) {
  const file_tree tree;
  const auto with = [&](const char* text) {
    tree.write("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size", text);
    return cache_line_bytes(cpu_id{0}, tree.root());
  };
  EXPECT_EQ(cache_line_bytes(cpu_id{0}, tree.root()), 64U) << "not told";
  EXPECT_EQ(with("128\n"), 128U);
  for (const char* bad : {"0\n", "63\n", "4096\n", "-64\n", "x\n", ""}) EXPECT_EQ(with(bad), 64U) << bad;
}

TEST(node_memory, counts_free_pages_and_files_that_are_not_in_use) {
  const file_tree tree;
  const auto with = [&](const char* text) {
    tree.write("/sys/devices/system/node/node3/meminfo", text);
    return available_bytes(node_id{3}, tree.root());
  };
  EXPECT_FALSE(available_bytes(node_id{3}, tree.root()));
  EXPECT_EQ(with("Node 3 MemTotal:  9 kB\nNode 3 MemFree:    100 kB\nNode 3 Inactive(file):   20 kB\n"), 120U << 10);
  EXPECT_EQ(with("Node 3 MemFree:    100 kB\n"), 100U << 10);
  for (const char* bad : {"", "Node 3 MemFree: x kB\n", "Node 3 MemFree: 10 MB\n", "Node 3 MemFree:", "Node 3 Mem\n"}) {
    EXPECT_FALSE(with(bad)) << bad;
  }
}

TEST(node_memory, of_the_system_is_the_kernels_estimate) {
  const file_tree tree;
  EXPECT_FALSE(available_bytes_of_system(tree.root()));
  tree.write("/proc/meminfo", "MemTotal:   400 kB\nMemFree:   100 kB\nXMemAvailable:  1 kB\nMemAvailable:   300 kB\n");
  EXPECT_EQ(available_bytes_of_system(tree.root()), 300U << 10);
  tree.write("/proc/meminfo", "MemAvailable: 300 MB\n");
  EXPECT_FALSE(available_bytes_of_system(tree.root()));
}

}  // namespace
}  // namespace homing::platform
