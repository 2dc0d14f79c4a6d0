// A controller or link carries what it can and no more, in whatever order requests come. Method: requests of streams
// that are ahead of and behind each other, in virtual time.
#include <gtest/gtest.h>

#include "capacity.hpp"
#include "stream_detector.hpp"

namespace {

using namespace homing::lab::model;

constexpr ticks cost = 16 * ticks_per_cycle;

TEST(LabCapacity, NobodyWaitsBelowSaturation) {
  capacity c(cost);
  for (ticks t = 0; t < 1000 * cost; t += 2 * cost) EXPECT_EQ(c.reserve(t), t);
}

TEST(LabCapacity, TwiceTheDemandTakesTwiceTheTime) {
  capacity c(cost);
  ticks last = 0;
  constexpr ticks requests = 100000;
  for (ticks i = 0; i != requests; ++i) last = c.reserve(i * cost / 2);
  EXPECT_NEAR(static_cast<double>(last), static_cast<double>(requests * cost),
              0.01 * static_cast<double>(requests * cost));
}

TEST(LabCapacity, WhoComesLateFindsTheRoomThatWasLeft) {
  capacity c(cost);
  for (ticks i = 0; i != 1000; ++i) EXPECT_EQ(c.reserve(i * 2 * cost), i * 2 * cost);  // far ahead, half the room
  for (ticks i = 0; i != 1000; ++i) EXPECT_LE(c.reserve(i * 2 * cost), (i + 1) * 2 * cost + capacity::slice_ticks);
}

TEST(LabCapacity, TheLongPastIsForgotten) {
  capacity c(cost);
  c.reserve(capacity::slice_ticks * capacity::slices * 3);
  EXPECT_EQ(c.reserve(5), 5U);
}

TEST(LabStreamDetector, StreamsGoOnAtTheSameDistance) {
  stream_detector d;
  EXPECT_FALSE(d.miss(1000));
  EXPECT_FALSE(d.miss(1002));
  EXPECT_TRUE(d.miss(1004));
  EXPECT_TRUE(d.miss(1006));
  EXPECT_FALSE(d.miss(1007));
  EXPECT_FALSE(d.miss(5000));
}

TEST(LabStreamDetector, SixteenAtATimeDownwardsToo) {
  stream_detector d;
  for (std::uint64_t step = 0; step != 10; ++step) {
    for (std::uint64_t s = 0; s != stream_detector::streams; ++s) {
      EXPECT_EQ(d.miss(100000 * (s + 1) - step), step > 1);
    }
  }
}

}  // namespace
