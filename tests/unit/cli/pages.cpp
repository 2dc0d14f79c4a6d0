// Property: pages are added up by kind, name and node, in the size of their pages. Method: listings as kernels write
// them.
#include <gtest/gtest.h>

#include "common/pages.hpp"

namespace {

using homing::cli::bytes_by_node;
using homing::cli::count_pages;
using homing::cli::page_census;
using homing::cli::page_group;
using homing::cli::sum;

constexpr const char* listing =
    "55d0 default file=/usr/bin/app mapped=2 N0=2 kernelpagesize_kB=4\n"
    "55d8 default file=/usr/bin/app anon=1 dirty=1 active=0 N0=1 N3=4 kernelpagesize_kB=4\n"
    "55e0 default heap anon=10 dirty=10 N0=7 N3=3 kernelpagesize_kB=4\n"
    "7f00 interleave:0,3 anon=2048 dirty=2048 N0=1024 N3=1024 kernelpagesize_kB=4\n"
    "7f10 bind:33 huge anon=2 dirty=2 N33=2 kernelpagesize_kB=2048\n"
    "7f20 default file=/dev/shm/a\\040b\\075c mapped=1 mapmax=2 N0=1 kernelpagesize_kB=4\n"
    "7f30 default file=/memfd:ring\\040(deleted) N0=2 kernelpagesize_kB=4\n"
    "7f40 default\n"
    "7ffc default stack anon=3 dirty=3 N0=3 kernelpagesize_kB=4\n";

const page_group& find(const page_census& census, const std::string& kind, const std::string& name = "") {
  for (const page_group& group : census.groups) {
    if (group.kind == kind && group.name == name) return group;
  }
  static const page_group none{};
  ADD_FAILURE() << "no " << kind << ' ' << name;
  return none;
}

TEST(Pages, KindsAndNodes) {
  const page_census census = count_pages(listing);
  EXPECT_EQ(find(census, "file", "/usr/bin/app").on, (bytes_by_node{{0, 3 * 4096}, {3, 4 * 4096}}));
  EXPECT_EQ(find(census, "file", "/usr/bin/app").mappings, 2U);
  EXPECT_EQ(find(census, "heap").on, (bytes_by_node{{0, 7 * 4096}, {3, 3 * 4096}}));
  EXPECT_EQ(find(census, "anonymous").on, (bytes_by_node{{0, 4U << 20U}, {3, 4U << 20U}}));
  EXPECT_EQ(find(census, "huge pages").on, (bytes_by_node{{33, 4U << 20U}}));
  EXPECT_EQ(find(census, "huge pages").page_bytes, 2U << 20U);
  EXPECT_EQ(find(census, "stack").on, (bytes_by_node{{0, 3 * 4096}}));
  EXPECT_EQ(find(census, "shared memory", "/dev/shm/a b=c").on, (bytes_by_node{{0, 4096}}));
  EXPECT_EQ(find(census, "shared memory", "/memfd:ring (deleted)").on, (bytes_by_node{{0, 8192}}));
}

TEST(Pages, TotalsAreTheSumOfTheGroups) {
  const page_census census = count_pages(listing);
  bytes_by_node total;
  for (const page_group& group : census.groups) {
    for (const auto& [node, bytes] : group.on) total[node] += bytes;
  }
  EXPECT_EQ(census.total, total);
  EXPECT_EQ(sum(census.total), sum(total));
  EXPECT_EQ(census.policies.at("bind:33"), 4U << 20U);
  for (std::size_t i = 1; i < census.groups.size(); ++i) {
    EXPECT_GE(sum(census.groups[i - 1].on), sum(census.groups[i].on)) << "most bytes first";
  }
}

TEST(Pages, WhatIsNotUnderstoodIsLeftOut) {
  EXPECT_TRUE(count_pages("").groups.empty());
  EXPECT_TRUE(count_pages("garbage\n\n\n7f00\n zz default N0=1\n").total.empty());
  EXPECT_EQ(count_pages("7f00 default N0=x Nx=1 N0=2 N1= N99999999999=1").total, (bytes_by_node{{0, 8192}}));
  const page_census cut = count_pages("7f00 default file=/a\\04 N0=1 kernelpagesize_kB=4");
  EXPECT_EQ(find(cut, "file", "/a\\04").on, (bytes_by_node{{0, 4096}}));
}

}  // namespace
