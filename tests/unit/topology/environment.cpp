/// Property: variables choose the machine, and a bad value costs one clear line, never the program.
/// Method: child processes with a changed environment, judged by exit code and stderr.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>

#include "topology/environment.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/temporary_path.hpp"
#include "unit/common/topology_fixture.hpp"

namespace homing::topology::testing {
namespace {

using variables = std::initializer_list<std::pair<const char*, std::string>>;

// Runs in a child: sets the variables, reads twice, prints what came out.
[[noreturn]] void read_with(variables set) {
  for (const char* name :
       {"HOMING_TOPOLOGY", "HOMING_DOMAIN", "HWLOC_SYNTHETIC", "HWLOC_XMLFILE", "HWLOC_THISSYSTEM"}) {
    ::unsetenv(name);
  }
  for (const auto& [name, value] : set) ::setenv(name, value.c_str(), 1);
  const auto m = read_environment();
  const auto again = read_environment();
  std::fprintf(stderr, "|%s %zu domains %u threads|\n", m->is_virtual() ? "virtual" : "real", again->domains().size(),
               again->default_concurrency());
  std::_Exit(m->domains().size() == again->domains().size() ? 0 : 1);
}

// `said`: a POSIX regular expression for all that may stand on stderr before the result.
void expect(variables set, const std::string& said, const std::string& result) {
  EXPECT_EXIT(read_with(set), ::testing::ExitedWithCode(0), "^" + said + "\\|" + result + "\\|\n$");
}

class environment : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(environment, each_variable_makes_a_machine) {
  expect({{"HWLOC_SYNTHETIC", "node:4 core:2 pu:1"}}, "", "virtual 4 domains 8 threads");
  expect({{"HOMING_TOPOLOGY", "node:2 core:3 pu:1"}}, "", "virtual 2 domains 6 threads");
  expect({{"HOMING_TOPOLOGY", fixture_path("unequal")}}, "", "virtual 3 domains 7 threads");
  expect({{"HWLOC_XMLFILE", fixture_path("memory_less")}}, "", "virtual 3 domains 6 threads");
}

TEST_F(environment, a_relative_path_starts_where_the_process_began) {
  const std::filesystem::path whole = fixture_path("unequal");
  homing::testing::in_own_process({{"HOMING_TOPOLOGY", std::filesystem::relative(whole)}}, [&] {
    ASSERT_EQ(::chdir("/proc/self"), 0);
    EXPECT_EQ(read_environment()->default_concurrency(), 7U);
    ASSERT_EQ(::chdir(whole.parent_path().c_str()), 0);
    ::setenv("HOMING_TOPOLOGY", "memory_less.xml", 1);
    EXPECT_EQ(read_environment()->default_concurrency(), 6U) << "one that the program names starts where that is";
  });
}

TEST_F(environment, a_path_is_refused_as_it_was_given) {
  homing::testing::in_own_process({{"HOMING_TOPOLOGY", "none.xml"}}, [] {
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(read_environment()->is_virtual());
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(said.starts_with("homing: HOMING_TOPOLOGY=none.xml is not valid")) << said;
  });
}

TEST_F(environment, ours_comes_before_hwlocs) {
  expect({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}, {"HWLOC_SYNTHETIC", "node:4 core:1 pu:1"}}, "",
         "virtual 2 domains 2 threads");
}

TEST_F(environment, domain_kind) {
  expect({{"HOMING_TOPOLOGY", fixture_path("l3_groups")}, {"HOMING_DOMAIN", "l3"}}, "", "virtual 4 domains 16 threads");
  expect({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}, {"HOMING_DOMAIN", "L3"}},
         "homing: HOMING_DOMAIN=L3 is not valid: expected node, l3 or socket; using node\n",
         "virtual 2 domains 2 threads");
}

TEST_F(environment, a_bad_value_is_one_line_and_the_real_machine) {
  expect({{"HOMING_TOPOLOGY", "nonsense"}},
         "homing: HOMING_TOPOLOGY=nonsense is not valid: expected a machine such as .*; using the real machine\n",
         "real .*");
  expect({{"HWLOC_SYNTHETIC", "node:2"}}, "homing: HWLOC_SYNTHETIC=node:2 is not valid: .*; using the real machine\n",
         "real .*");
  expect({{"HWLOC_XMLFILE", "/nonexistent.xml"}},
         "homing: HWLOC_XMLFILE=/nonexistent.xml is not valid: expected an hwloc XML file .*; using the real machine\n",
         "real .*");
}

TEST_F(environment, the_next_variable_stands_in_for_a_bad_one) {
  expect({{"HOMING_TOPOLOGY", "nonsense"}, {"HWLOC_SYNTHETIC", "node:4 core:1 pu:1"}},
         "homing: HOMING_TOPOLOGY=nonsense is not valid: .*; using HWLOC_SYNTHETIC\n", "virtual 4 domains 4 threads");
}

TEST_F(environment, a_machine_too_large_for_us_does_not_come_back_through_hwloc) {
  expect({{"HWLOC_SYNTHETIC", "node:1000 core:1000 pu:1"}},
         "homing: HWLOC_SYNTHETIC=.*more than 4096 CPUs.*one domain.*\n", "real 1 domains .*");
}

TEST_F(environment, nor_does_one_whose_levels_are_on_lines_of_their_own) {
  expect({{"HWLOC_SYNTHETIC", "node:64\ncore:64\npu:64"}},
         "homing: HWLOC_SYNTHETIC=.*more than 4096 CPUs.*one domain.*\n", "real 1 domains .*");
}

TEST_F(environment, nor_does_one_that_is_too_long) {
  const std::string variable = "node:4 core:1 pu:1" + std::string(5000, ' ');
  expect({{"HWLOC_SYNTHETIC", variable}},
         "homing: HWLOC_SYNTHETIC=.* is not valid: expected at most 4096 characters.*\n", "real 1 domains .*");
}

TEST_F(environment, nor_does_a_broken_file) {
  // A child runs this test from its beginning, and is to come to its parent's file.
  ::setenv("HOMING_TEST_BROKEN_FILE", homing::testing::temporary_path("broken.xml").c_str(), 0);
  const std::string path = std::getenv("HOMING_TEST_BROKEN_FILE");
  for (const char* text : {"<topology", "no XML", ""}) {
    std::ofstream(path) << text;
    expect({{"HWLOC_XMLFILE", path}},
           "homing: HWLOC_XMLFILE=.* is not valid: expected an hwloc XML file .*; using one domain[^\n]*\n",
           "real 1 domains .*");
    expect({{"HOMING_TOPOLOGY", path}},
           "homing: HOMING_TOPOLOGY=.* is not valid: expected an hwloc XML file .*; using the real machine\n",
           "real .*");
  }
  std::remove(path.c_str());
}

TEST_F(environment, nor_is_the_programs_stdin_read) {
  expect({{"HWLOC_XMLFILE", "-"}}, "homing: HWLOC_XMLFILE=- is not valid: [^\n]*stdin[^\n]*; using one domain[^\n]*\n",
         "real 1 domains .*");
}

TEST_F(environment, values_are_made_fit_to_print) {
  expect({{"HOMING_TOPOLOGY", "bad\033[31m\nline"}}, "homing: HOMING_TOPOLOGY=bad\\?\\[31m\\?line is not valid.*\n",
         "real .*");
  expect({{"HOMING_TOPOLOGY", std::string(5000, 'x')}},
         "homing: HOMING_TOPOLOGY=x{100}\\.\\.\\. is not valid: expected at most 4096 characters.*\n", "real .*");
}

TEST_F(environment, the_snapshot_is_read_once) {
  const machine& first = process_machine();
  EXPECT_EQ(&first, &process_machine());
  EXPECT_GE(first.default_concurrency(), 1U);
}

}  // namespace
}  // namespace homing::topology::testing
