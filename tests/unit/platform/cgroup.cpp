/// Property: CPU quota and memory limit are the smallest over all levels, in both versions of control groups.
/// Method: trees of files in the kernel's formats, good and bad.
#include "platform/cgroup.hpp"

#include <gtest/gtest.h>

#include "unit/common/file_tree.hpp"

namespace homing::platform {
namespace {

constexpr const char* v2_mount = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* v1_mount =
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

class quota : public ::testing::Test {
 protected:
  void process(const std::string& mounts, const std::string& groups) const {
    tree_.write("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/root rw\n" + mounts);
    tree_.write("/proc/self/cgroup", groups);
  }
  void v2(const std::string& group, const std::string& value) const {
    tree_.write("/sys/fs/cgroup" + group + "/cpu.max", value);
  }
  void v1(const std::string& group, const std::string& quota_us, const std::string& period_us) const {
    const std::string folder = "/sys/fs/cgroup/cpu,cpuacct" + group;
    tree_.write(folder + "/cpu.cfs_quota_us", quota_us);
    tree_.write(folder + "/cpu.cfs_period_us", period_us);
  }
  [[nodiscard]] std::optional<cpu_quota> read() const { return read_cpu_quota(tree_.root()); }
  [[nodiscard]] double cpus() const {
    const auto found = read();
    return found ? found->cpus : 0;
  }
  homing::testing::file_tree tree_;
};

TEST_F(quota, none_where_there_are_no_groups) {
  EXPECT_FALSE(read());
  process("", "0::/\n");
  EXPECT_FALSE(read());
  process(v2_mount, "");
  EXPECT_FALSE(read());
}

TEST_F(quota, version_2_takes_the_smallest_level) {
  process(v2_mount, "0::/system.slice/app.service/worker\n");
  v2("/system.slice", "150000 100000\n");
  v2("/system.slice/app.service", "max 100000\n");
  v2("/system.slice/app.service/worker", "400000 100000\n");
  ASSERT_TRUE(read());
  EXPECT_DOUBLE_EQ(read()->cpus, 1.5);
  EXPECT_EQ(read()->file, tree_.root() + "/sys/fs/cgroup/system.slice/cpu.max");
  v2("/system.slice/app.service", "20000 50000\n");
  EXPECT_DOUBLE_EQ(cpus(), 0.4);
}

TEST_F(quota, version_1_takes_the_smallest_level_of_the_cpu_hierarchy) {
  process(v1_mount, "4:cpuset:/other\n3:cpu,cpuacct:/docker/abc\n");
  v1("", "-1\n", "100000\n");
  v1("/docker", "250000\n", "100000\n");
  v1("/docker/abc", "-1\n", "100000\n");
  EXPECT_DOUBLE_EQ(cpus(), 2.5);
  v1("/docker/abc", "50000\n", "100000\n");
  EXPECT_DOUBLE_EQ(cpus(), 0.5);
}

TEST_F(quota, both_versions_at_once) {
  process(std::string("41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n") + v1_mount,
          "3:cpu,cpuacct:/a\n0::/b\n");
  v1("/a", "300000\n", "100000\n");
  EXPECT_DOUBLE_EQ(cpus(), 3);
  tree_.write("/sys/fs/cgroup/unified/b/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(cpus(), 2);
}

TEST_F(quota, a_container_sees_its_group_as_the_root_of_the_mount) {
  process("31 23 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "0::/docker/abc/inner\n");
  v2("", "70000 100000\n");
  v2("/inner", "max 100000\n");
  EXPECT_DOUBLE_EQ(cpus(), 0.7);
  // A prefix that is no parent, a path outside the namespace: the mount point is all there is.
  process("31 23 0:28 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "0::/docker/abc\n");
  EXPECT_DOUBLE_EQ(cpus(), 0.7);
  process(v2_mount, "0::/../../inner\n");
  v2("/inner", "10000 100000\n");
  EXPECT_DOUBLE_EQ(cpus(), 0.7);
}

TEST_F(quota, mount_points_with_blanks) {
  process("31 23 0:28 / /my\\040groups rw - cgroup2 cgroup2 rw\n", "0::/\n");
  tree_.write("/my groups/cpu.max", "100000 100000\n");
  EXPECT_DOUBLE_EQ(cpus(), 1);
}

TEST_F(quota, a_group_that_is_gone_leaves_its_parents) {
  process(v2_mount, "0::/a/deleted\n");
  v2("/a", "200000 100000\n");
  EXPECT_DOUBLE_EQ(cpus(), 2);
}

TEST_F(quota, what_is_not_understood_sets_no_limit) {
  process(v2_mount, "0::/a\n");
  for (const char* value :
       {"", "\n", "100000", "0 100000", "-1 100000", "100000 0", "1e5 100000", "100000 100000 1", "100000  100000",
        " 100000 100000", "x 100000", "100000 2000000", "99 100000", "99999999999999999999 100000", "max max"}) {
    v2("/a", value);
    EXPECT_FALSE(read()) << value;
  }
  v2("/a", std::string(1000, '1') + " 100000\n");
  EXPECT_FALSE(read()) << "too long";
}

TEST_F(quota, damaged_proc_files_set_no_limit) {
  v2("/a", "100000 100000\n");
  for (const char* groups : {"0:/a\n", "0\n", ":::\n", "1::/a\n", "0:cpu\n", "\n\n"}) {
    process(v2_mount, groups);
    EXPECT_FALSE(read()) << groups;
  }
  for (const char* mounts : {"cgroup2\n", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2\n", "- cgroup2 - -\n"}) {
    process(mounts, "0::/a\n");
    EXPECT_FALSE(read()) << mounts;
  }
}

TEST_F(quota, memory_left_is_the_smallest_over_all_levels_without_what_can_be_dropped) {
  const auto left = [&] { return read_memory_left(tree_.root()); };
  EXPECT_FALSE(left());
  process(v2_mount, "0::/a/b\n");
  EXPECT_FALSE(left());
  const auto write = [&](const std::string& group, const char* max, const char* current, const char* stat) {
    tree_.write("/sys/fs/cgroup" + group + "/memory.max", max);
    tree_.write("/sys/fs/cgroup" + group + "/memory.current", current);
    tree_.write("/sys/fs/cgroup" + group + "/memory.stat", stat);
  };
  write("/a/b", "max\n", "1000\n", "");
  EXPECT_FALSE(left()) << "no limit";
  write("/a", "10000\n", "4000\n", "anon 3000\ninactive_file 500\n");
  EXPECT_EQ(left(), 6500U);
  write("/a/b", "2000\n", "1900\n", "inactive_file 100\n");
  EXPECT_EQ(left(), 200U);
  write("/a/b", "2000\n", "3000\n", "");
  EXPECT_EQ(left(), 0U) << "the limit was lowered below what is used";
  write("/a/b", "nonsense\n", "3000\n", "");
  EXPECT_EQ(left(), 6500U);
}

TEST_F(quota, memory_left_in_version_1_is_that_of_the_memory_hierarchy) {
  process("34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "5:cpu:/other\n4:memory:/docker/x\n");
  tree_.write("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "8192\n");
  tree_.write("/sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "5000\n");
  tree_.write("/sys/fs/cgroup/memory/docker/x/memory.stat", "inactive_file 1\ntotal_inactive_file 1000\n");
  tree_.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(read_memory_left(tree_.root()), 8192U - 4000U);
}

}  // namespace
}  // namespace homing::platform
