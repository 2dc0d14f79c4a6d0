/// Property: allowed memory nodes and offline CPUs are read strictly from the kernel's files.
/// Method: files in the kernel's formats, good and bad, and this process's own.
#include "platform/kernel_limits.hpp"

#include <gtest/gtest.h>

#include "platform/files.hpp"
#include "unit/common/file_tree.hpp"

namespace homing::platform {
namespace {

TEST(memory_nodes, of_this_process_are_not_empty) {
  const auto nodes = allowed_memory_nodes();
  if (nodes) {
    EXPECT_FALSE(nodes->empty());
  }
}

TEST(memory_nodes, are_read_from_the_status_file) {
  const homing::testing::file_tree tree;
  EXPECT_FALSE(allowed_memory_nodes(tree.root()));
  const auto with = [&](const std::string& line) {
    tree.write("/proc/self/status", "Name:\tx\n" + line + "Seccomp:\t0\n");
    return allowed_memory_nodes(tree.root());
  };
  EXPECT_EQ(with("Mems_allowed:\tff\nMems_allowed_list:\t0-1,8\n")->list(), "0-1,8");
  EXPECT_FALSE(with("Mems_allowed:\tff\n"));
  for (const char* line : {"Mems_allowed_list:\t\n", "Mems_allowed_list:\n", "Mems_allowed_list:\tx\n",
                           "Mems_allowed_list:\t3-1\n", "XMems_allowed_list:\t1\n"}) {
    EXPECT_FALSE(with(line)) << line;
  }
}

TEST(offline_cpus, are_present_and_not_online) {
  const homing::testing::file_tree tree;
  EXPECT_TRUE(offline_cpus(tree.root()).empty());
  tree.write("/sys/devices/system/cpu/present", "0-7\n");
  EXPECT_TRUE(offline_cpus(tree.root()).empty()) << "unknown is not offline";
  tree.write("/sys/devices/system/cpu/online", "0-3,6\n");
  EXPECT_EQ(offline_cpus(tree.root()).list(), "4-5,7");
  tree.write("/sys/devices/system/cpu/online", "garbage\n");
  EXPECT_TRUE(offline_cpus(tree.root()).empty());
}

TEST(files, are_read_whole_or_not_at_all) {
  const homing::testing::file_tree tree;
  tree.write("/file", std::string(10000, 'x'));
  EXPECT_EQ(read_file(tree.root() + "/file")->size(), 10000U);
  EXPECT_EQ(read_file(tree.root() + "/file", 10000)->size(), 10000U);
  EXPECT_FALSE(read_file(tree.root() + "/file", 9999));
  EXPECT_FALSE(read_file(tree.root() + "/none"));
  EXPECT_FALSE(read_file(tree.root())) << "a folder";
}

}  // namespace
}  // namespace homing::platform
