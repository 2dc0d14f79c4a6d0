// Property: each finding of `homing doctor` follows from what was read, and says what to do where it isn't ok.
// Method: its pure functions, given kernels, sandboxes, machines and neighbours that are made up.
#include <gtest/gtest.h>
#include <hwloc.h>

#include <cerrno>
#include <map>
#include <string>

#include "doctor/finding.hpp"
#include "topology/source.hpp"
#include "unit/common/sandbox.hpp"

namespace {

using namespace homing::cli;
using homing::platform::cpu_set;

const finding* find(const std::vector<finding>& all, const std::string& topic) {
  for (const finding& f : all) {
    if (f.topic == topic) return &f;
  }
  return nullptr;
}

TEST(Doctor, RefusedCallsSayWhatIsLost) {
  const auto all = judge_calls({{"mbind", EPERM}, {"set_mempolicy", 0}, {"move_pages", ENOSYS}, {"membarrier", 0}});
  ASSERT_NE(find(all, "mbind"), nullptr);
  EXPECT_EQ(find(all, "mbind")->status, health::bad);
  EXPECT_NE(find(all, "mbind")->says.find("not permitted"), std::string::npos);
  EXPECT_NE(find(all, "mbind")->advice.find("SYS_NICE"), std::string::npos);
  ASSERT_NE(find(all, "move_pages"), nullptr);
  EXPECT_NE(find(all, "move_pages")->says.find("hidden by a sandbox"), std::string::npos);
  EXPECT_EQ(find(all, "system calls")->says, "granted: set_mempolicy, membarrier");
}

TEST(Doctor, WhatIsOkHasNothingToDo) {
  for (const char* name : {"get_mempolicy", "migrate_pages", "perf_event_open", "hardware events"}) {
    const auto all = judge_calls({{name, ENOENT}});
    ASSERT_EQ(all.size(), 1U) << name;
    EXPECT_EQ(all.front().status, health::ok) << name;
    EXPECT_TRUE(all.front().advice.empty()) << name;
  }
}

TEST(Doctor, EventsOfTheCpu) {
  const finding none = judge_events({nullptr, "", "no events are known"});
  EXPECT_EQ(none.status, health::ok);
  EXPECT_NE(none.says.find("no events are known"), std::string::npos);
  EXPECT_NE(none.says.find("not measured"), std::string::npos);
  const finding some = judge_events({event_sets().data(), "icx", ""});
  EXPECT_NE(some.says.find("icx"), std::string::npos);
  EXPECT_EQ(some.says.find("not measured"), std::string::npos);
}

TEST(Doctor, HwlocsVersionIsNotItsInterfaces) {
  const auto all = judge_libraries();
  ASSERT_NE(find(all, "hwloc"), nullptr);
  EXPECT_EQ(find(all, "hwloc")->says, HWLOC_VERSION);
}

TEST(Doctor, CallsAreReallyMadeInSandboxes) {
  homing::testing::in_sandbox(homing::testing::docker, [](int error) {
    std::map<std::string, int> answers;
    for (const call_answer& answer : try_calls()) answers[answer.name] = answer.error_number;
    for (const char* refused : {"mbind", "set_mempolicy", "get_mempolicy", "move_pages", "migrate_pages"}) {
      ASSERT_EQ(answers.count(refused), 1U) << refused;
      EXPECT_EQ(answers[refused], error) << refused;
    }
    ASSERT_EQ(answers.count("sched_setaffinity"), 1U);
    EXPECT_EQ(answers["sched_setaffinity"], 0);
  });
}

TEST(Doctor, BalancingHurtsOnlyWhereThereIsAChoice) {
  EXPECT_EQ(judge_balancing("1\n", 2).status, health::warn);
  EXPECT_FALSE(judge_balancing("1\n", 2).advice.empty());
  EXPECT_EQ(judge_balancing("1\n", 1).status, health::ok);
  EXPECT_EQ(judge_balancing("0\n", 4).status, health::ok);
  EXPECT_EQ(judge_balancing(std::nullopt, 4).status, health::ok);
}

TEST(Doctor, HugePages) {
  EXPECT_EQ(judge_huge_pages("[always] madvise never\n").status, health::warn);
  EXPECT_EQ(judge_huge_pages("always [madvise] never\n").status, health::ok);
  EXPECT_NE(judge_huge_pages("always madvise [never]\n").says.find("no transparent"), std::string::npos);
  EXPECT_EQ(judge_huge_pages(std::nullopt).status, health::ok);
}

TEST(Doctor, LimitsOfTheMachine) {
  using namespace homing::topology;
  const auto read_made_up = read({.from = source::origin::synthetic,
                                  .text = "node:4 core:2 pu:1",
                                  .about = source::claim::this_system,
                                  .limits = {.mask = cpu_set{cpu_id{0}, cpu_id{1}, cpu_id{2}},
                                             .memory_nodes = homing::platform::node_set{node_id{0}},
                                             .quota_cpus = 1.5}});
  ASSERT_NE(read_made_up.value, nullptr) << read_made_up.error;
  const auto all = judge_machine(*read_made_up.value);
  ASSERT_NE(find(all, "CPU quota"), nullptr);
  EXPECT_EQ(find(all, "CPU quota")->status, health::warn);
  ASSERT_NE(find(all, "memory nodes"), nullptr);
  EXPECT_NE(find(all, "memory nodes")->says.find("node 1-3"), std::string::npos);
  ASSERT_NE(find(all, "affinity mask"), nullptr);
  for (const finding& f : all) {
    EXPECT_TRUE(f.status == health::ok || !f.advice.empty()) << f.topic;
  }
}

TEST(Doctor, RanksOnTheSameCpus) {
  const cpu_set mask = *cpu_set::parse_list("0-3");
  const cpu_set other = *cpu_set::parse_list("4-7");
  const std::vector<neighbour> same{{10, "app", mask, true}, {11, "sh", mask, false}, {12, "app", other, true}};
  EXPECT_EQ(judge_neighbours(same, mask, 8, true).front().status, health::bad);
  EXPECT_NE(judge_neighbours(same, mask, 8, true).front().says.find("1 more rank may"), std::string::npos);
  EXPECT_EQ(judge_neighbours({{12, "app", other, true}}, mask, 8, true).front().status, health::ok);
  EXPECT_EQ(judge_neighbours(same, mask, 8, false).front().status, health::warn);
  EXPECT_NE(judge_neighbours(same, mask, 8, false).front().says.find("app 10"), std::string::npos);
  EXPECT_EQ(judge_neighbours(same, mask, 4, false).front().status, health::ok) << "all CPUs: nobody is confined";
}

TEST(Doctor, RanksAreKnownByTheirEnvironment) {
  using namespace std::string_literals;
  EXPECT_TRUE(is_rank("A=1\0OMPI_COMM_WORLD_LOCAL_RANK=0\0B=2"s));
  EXPECT_TRUE(is_rank("SLURM_LOCALID=3"));
  EXPECT_FALSE(is_rank("MY_SLURM_LOCALID=3\0X=SLURM_LOCALID=3"s));
  EXPECT_FALSE(is_rank(""));
}

}  // namespace
