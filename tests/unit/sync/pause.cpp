// As many pauses as fill a time: one at least, more for longer times in proportion, and none absurd.
#include "sync/pause.hpp"

#include <gtest/gtest.h>

namespace {

using homing::sync::pauses_in;

TEST(pause, there_is_one_at_least) {
  EXPECT_EQ(pauses_in(0), 1U);
  EXPECT_GE(pauses_in(1), 1U);
}

TEST(pause, one_takes_between_a_nanosecond_and_a_thousand) {
  EXPECT_LE(pauses_in(1'000'000), 1'000'000U);
  EXPECT_GE(pauses_in(1'000'000), 1'000U);
}

TEST(pause, twice_the_time_has_twice_the_pauses) {
  for (unsigned ns = 1; ns <= 500'000; ns *= 3) {
    const unsigned once = pauses_in(ns);
    const unsigned twice = pauses_in(2 * ns);
    EXPECT_GE(twice, once) << ns;
    EXPECT_GE(twice + 1, 2 * once - (once == 1 ? 1 : 0)) << ns;
    EXPECT_LE(twice, 2 * once + 1) << ns;
  }
}

}  // namespace
