// A controller or link carries what it can and no more, in whatever order requests come. Method: requests of streams
// that are ahead of and behind each other, in virtual time.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

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

/// What stream_detector says, by looking at each stream for each miss.
class plain_detector {
 public:
  bool miss(std::uint64_t line) {
    ++now_;
    std::size_t oldest = 0;
    const auto age = [&](const stream& s) {
      return now_ - s.used + (s.step == 0 ? stream_detector::followed_misses_max : 0);
    };
    for (std::size_t i = 0; i != table_.size(); ++i) {
      stream& s = table_[i];
      const auto distance = static_cast<std::int64_t>(line - s.last);
      if (distance == 0) {
        s.used = now_;
        return s.step != 0;
      }
      if (std::abs(distance) <= stream_detector::distance_max) {
        const bool goes_on = distance == s.step;
        s = {line, distance, now_};
        return goes_on;
      }
      if (age(s) > age(table_[oldest])) oldest = i;
    }
    table_[oldest] = {line, 0, now_};
    return false;
  }

 private:
  struct stream {
    std::uint64_t last = ~std::uint64_t{0} >> 1;
    std::int64_t step = 0;
    std::uint64_t used = 0;
  };
  std::vector<stream> table_{stream_detector::streams};
  std::uint64_t now_ = 0;
};

TEST(LabStreams, AreThoseThatALookAtEachFinds) {
  stream_detector d;
  plain_detector plain;
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> streams(80);
  for (std::uint64_t& s : streams) s = random() % 100000;
  int going_on = 0;
  for (int i = 0; i != 200000; ++i) {
    const std::size_t which = random() % (i % 40000 < 20000 ? 8 : streams.size());
    const bool alone = random() % 3 == 0;
    const std::uint64_t line = alone ? random() % 100000 : streams[which] += which % 40;
    const bool expected = plain.miss(line);
    ASSERT_EQ(d.miss(line), expected) << "miss " << i << ", seed 1";
    going_on += expected;
  }
  EXPECT_GT(going_on, 10000);
}

}  // namespace
