// Property: near and far traffic is asked for by names that libpfm4 knows, and where it can't be measured there is a
// reason and no number. Method: every name of every set, encoded for its CPUs; counting a child here, whatever CPU it
// is.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "run/traffic.hpp"

namespace {

using namespace homing::cli;

TEST(Traffic, EveryNameIsKnown) {
  for (const event_set& set : event_sets()) {
    EXPECT_FALSE(set.near.empty()) << set.cpus;
    EXPECT_FALSE(set.far.empty()) << set.cpus;
    std::istringstream cpus(set.cpus);
    for (std::string cpu; cpus >> cpu;) {
      for (const auto& names : {set.near, set.far}) {
        for (const char* name : names) EXPECT_TRUE(is_known_event(cpu, name)) << cpu << "::" << name;
      }
    }
  }
  EXPECT_FALSE(is_known_event("skx", "NO_SUCH_EVENT:NOTHING"));
}

TEST(Traffic, NotMeasuredHasAReason) {
  const traffic_counter never;
  EXPECT_TRUE(never.read().events.empty());
  EXPECT_FALSE(never.read().reason.empty());
}

TEST(Traffic, AProcessIsCountedOrItIsSaidWhyNot) {
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte = 0;
    ::_exit(::read(gate[0], &byte, 1) == 1 ? ::execlp("true", "true", nullptr) : 1);
  }
  traffic_counter counter;
  counter.attach(child);
  ASSERT_EQ(::write(gate[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const traffic_result seen = counter.read();
  EXPECT_NE(seen.events.empty(), seen.reason.empty()) << "either counts or a reason: " << seen.reason;
  ::close(gate[0]);
  ::close(gate[1]);
}

}  // namespace
