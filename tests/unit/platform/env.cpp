/// Property: variables are read strictly; a wrong value is said once, in one line, and replaced.
/// Method: real variables set by the test, and stderr captured.
#include "platform/env.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "unit/common/forked_child.hpp"

namespace homing::platform {
namespace {

enum class steal { near, random, domain };

steal read_steal(const char* name) {
  return env_choice<steal>(name, {{"near", steal::near}, {"random", steal::random}, {"domain", steal::domain}},
                           steal::near);
}

// Each test has variables of its own: a refusal is said once a process.
template <class F>
std::string said_while(F&& f) {
  ::testing::internal::CaptureStderr();
  f();
  return ::testing::internal::GetCapturedStderr();
}

TEST(env, unset_and_empty_are_the_same) {
  ::unsetenv("HOMING_T_UNSET");
  EXPECT_FALSE(env("HOMING_T_UNSET"));
  ::setenv("HOMING_T_UNSET", "", 1);
  EXPECT_FALSE(env("HOMING_T_UNSET"));
  EXPECT_EQ(said_while([] { EXPECT_EQ(read_steal("HOMING_T_UNSET"), steal::near); }), "");
  ::setenv("HOMING_T_UNSET", "x", 1);
  EXPECT_EQ(env("HOMING_T_UNSET"), "x");
}

TEST(env, choices_are_exact) {
  ::setenv("HOMING_T_GOOD", "domain", 1);
  EXPECT_EQ(said_while([] { EXPECT_EQ(read_steal("HOMING_T_GOOD"), steal::domain); }), "");
  ::setenv("HOMING_T_BAD", "foo", 1);
  EXPECT_EQ(said_while([] {
              EXPECT_EQ(read_steal("HOMING_T_BAD"), steal::near);
              EXPECT_EQ(read_steal("HOMING_T_BAD"), steal::near);
            }),
            "homing: HOMING_T_BAD=foo is not valid: expected near, random or domain; using near\n");
  int number = 0;
  for (const char* value : {"Near", " near", "near ", "nea", "nearly", "near,random"}) {
    const std::string name = "HOMING_T_BAD" + std::to_string(++number);
    ::setenv(name.c_str(), value, 1);
    EXPECT_NE(said_while([&] { EXPECT_EQ(read_steal(name.c_str()), steal::near); }), "") << value;
  }
}

TEST(env, flags_and_integers) {
  ::setenv("HOMING_T_FLAG", "1", 1);
  EXPECT_TRUE(env_flag("HOMING_T_FLAG", false));
  ::setenv("HOMING_T_FLAG", "0", 1);
  EXPECT_FALSE(env_flag("HOMING_T_FLAG", true));
  ::setenv("HOMING_T_FLAG", "yes", 1);
  EXPECT_EQ(said_while([] { EXPECT_TRUE(env_flag("HOMING_T_FLAG", true)); }),
            "homing: HOMING_T_FLAG=yes is not valid: expected 0 or 1; using 1\n");
  ::setenv("HOMING_T_INTEGER", "-12", 1);
  EXPECT_EQ(env_integer("HOMING_T_INTEGER", -20, 20, 3), -12);
  int number = 0;
  for (const char* value : {"21", "-21", "1.5", "0x10", "1 ", "+1", "", "99999999999999999999"}) {
    const std::string name = "HOMING_T_INTEGER" + std::to_string(++number);
    ::setenv(name.c_str(), value, 1);
    const std::string said = said_while([&] { EXPECT_EQ(env_integer(name.c_str(), -20, 20, 3), 3); });
    const std::string expected =
        "homing: " + name + "=" + value + " is not valid: expected an integer from -20 to 20; using 3\n";
    EXPECT_EQ(said, *value == '\0' ? "" : expected);
  }
}

TEST(env, long_and_unprintable_values) {
  ::setenv("HOMING_T_LONG", std::string(env_length_max, 'a').c_str(), 1);
  EXPECT_EQ(env("HOMING_T_LONG")->size(), env_length_max);
  ::setenv("HOMING_T_LONG", std::string(env_length_max + 1, 'a').c_str(), 1);
  const std::string said = said_while([] { EXPECT_FALSE(env("HOMING_T_LONG")); });
  EXPECT_NE(said.find(std::string(100, 'a') + "... is not valid"), std::string::npos) << said;
  EXPECT_STREQ(printable("a\x1b[2J\r\n\x80z").c_str(), "a?[2J???z");
  EXPECT_STREQ(printable("").c_str(), "");
}

TEST(env, another_bad_value_is_said_again) {
  const auto said_of = [](const char* value) {
    ::setenv("HOMING_T_CHANGED", value, 1);
    return said_while([] { EXPECT_FALSE(env_flag("HOMING_T_CHANGED", false)); });
  };
  EXPECT_NE(said_of("one"), "");
  EXPECT_EQ(said_of("one"), "");
  EXPECT_EQ(said_of("two"), "homing: HOMING_T_CHANGED=two is not valid: expected 0 or 1; using 0\n");
  EXPECT_EQ(said_of("two"), "");
}

TEST(env, refused_once_however_many_threads_ask) {
  ::setenv("HOMING_T_THREADS", "bad", 1);
  const std::string said = said_while([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([] { EXPECT_FALSE(env_flag("HOMING_T_THREADS", false)); });
    for (auto& thread : threads) thread.join();
  });
  EXPECT_EQ(said, "homing: HOMING_T_THREADS=bad is not valid: expected 0 or 1; using 0\n");
  EXPECT_TRUE(has_refused_env());
}

TEST(warn, is_one_line_cut_at_a_kibibyte_and_keeps_errno) {
  errno = ENOENT;
  EXPECT_EQ(said_while([] { warn("%s is %d", "answer", 42); }), "homing: answer is 42\n");
  const std::string said = said_while([] { warn("%s", std::string(5000, 'b').c_str()); });
  EXPECT_LE(said.size(), 1024U);
  EXPECT_TRUE(said.starts_with("homing: bbb"));
  EXPECT_TRUE(said.ends_with("b\n"));
  errno = ENOENT;
  warn("errno stays");
  EXPECT_EQ(errno, ENOENT);
}

TEST(warn, to_a_pipe_that_nobody_reads_is_lost_and_ends_nothing) {
  EXPECT_TRUE(homing::testing::child_can([] {
    int ends[2];
    if (::pipe(ends) != 0 || ::dup2(ends[1], STDERR_FILENO) < 0) return false;
    ::close(ends[0]);
    warn("nobody reads this");
    return true;
  }));
}

}  // namespace
}  // namespace homing::platform
