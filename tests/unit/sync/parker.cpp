// A sleeper takes every token that was left for it once, also where it sleeps for a time only ([S5]).
#include "sync/parker.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace {

namespace sync = homing::sync;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t minute = 60'000 * ms;

TEST(parker, a_token_left_before_the_sleep_ends_it) {
  sync::parker p;
  p.unpark();
  p.park();
  p.unpark();
  EXPECT_TRUE(p.park_for(minute));
}

TEST(parker, several_tokens_are_one) {
  sync::parker p;
  p.unpark();
  p.unpark();
  EXPECT_TRUE(p.park_for(minute));
  EXPECT_FALSE(p.park_for(ms));
}

TEST(parker, a_sleep_without_a_token_ends_by_its_time_and_says_so) {
  sync::parker p;
  EXPECT_FALSE(p.park_for(ms));
  EXPECT_FALSE(p.park_for(0));
}

TEST(parker, a_token_that_was_dropped_is_gone) {
  sync::parker p;
  p.unpark();
  p.clear();
  EXPECT_FALSE(p.park_for(ms));
}

/// Each token is an answer to a turn, so a lost one holds both up for ever; sleeps of 1 ns meet the token at every
/// moment.
TEST(parker, no_token_is_lost_between_two_that_take_turns) {
  constexpr int rounds = 20'000;
  sync::parker here;
  sync::parker there;
  const auto take = [](sync::parker& p, int round) {
    if (round % 3 == 0) {
      p.park();
      return;
    }
    while (!p.park_for(round % 3 == 1 ? 1 : minute)) {
    }
  };
  std::thread other([&] {
    for (int round = 0; round < rounds; ++round) {
      take(there, round);
      here.unpark();
    }
  });
  for (int round = 0; round < rounds; ++round) {
    there.unpark();
    take(here, round);
  }
  other.join();
}

}  // namespace
