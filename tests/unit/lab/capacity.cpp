// A controller or link carries what it can and no more, in whatever order requests come. Method: requests of streams
// that are ahead of and behind each other, in virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>
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

// A line of a slow link takes many slices, whose beginning is not where it starts.
TEST(LabCapacity, ALineMayTakeManySlices) {
  for (const ticks line : {2 * capacity::slice_ticks, 9 * capacity::slice_ticks + 1000, ticks{1} << 24U}) {
    capacity c(line);
    ticks last = 0;
    for (ticks i = 0; i != 100; ++i) last = c.reserve(i);
    EXPECT_GE(last + capacity::slice_ticks, 99 * line) << line;
    EXPECT_LE(last, 99 * line) << line;
  }
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

/// The share of misses fetched ahead where `rows` rows of `lines` lines are read side by side, then the next ones.
double ahead(std::uint64_t rows, std::uint64_t lines, std::uint64_t gap) {
  stream_detector d;
  double misses = 0, going_on = 0;
  for (std::uint64_t row = 0; row < 1000; row += rows) {
    for (std::uint64_t column = 0; column != lines; ++column) {
      for (std::uint64_t r = row; r != row + rows; ++r) {
        going_on += d.miss(1000000 + r * (lines + gap) + column) ? 1 : 0;
        ++misses;
      }
    }
  }
  return going_on / misses;
}

// What a stencil does. Of a row that is new, two lines are not fetched ahead.
TEST(LabStreams, RowsSideBySideAreEachFollowed) {
  for (const std::uint64_t lines : {8U, 16U, 32U, 64U}) {
    for (const std::uint64_t rows : {2U, 3U, 4U, 9U}) {
      for (const std::uint64_t gap : {0U, 3U, 77U}) {
        EXPECT_GE(ahead(rows, lines, gap), 1 - 2.0 / static_cast<double>(lines) - 0.01)
            << rows << " rows of " << lines << " lines, " << gap << " lines between them";
      }
    }
  }
}

TEST(LabStreams, WhatPassesByDoesNotTurnAStream) {
  stream_detector d;
  for (std::uint64_t line = 1000; line != 1010; ++line) d.miss(line);
  EXPECT_FALSE(d.miss(1025));  // a single nearby
  EXPECT_FALSE(d.miss(1030));
  EXPECT_TRUE(d.miss(1010));
  EXPECT_TRUE(d.miss(1010)) << "the same again";
  EXPECT_TRUE(d.miss(1035)) << "a second stream, which has 1011 to 1035 between the two";
  EXPECT_TRUE(d.miss(1011));
  EXPECT_TRUE(d.miss(1040));
}

TEST(LabStreams, TheShortestDistanceWinsAndTheOrderCounts) {
  stream_detector d;
  for (const std::uint64_t line : {80U, 90U, 96U, 98U}) EXPECT_FALSE(d.miss(line));
  EXPECT_TRUE(d.miss(100));  // by 2 and by 10
  EXPECT_TRUE(d.miss(102));
  for (const std::uint64_t line : {5001U, 5000U}) EXPECT_FALSE(d.miss(line));
  EXPECT_FALSE(d.miss(5002)) << "from 5001 it is 1, but from 5000 to 5001 it was not";
}

TEST(LabStreams, RandomMissesAreNone) {
  for (const auto& [lines, at_most] : {std::pair{1U << 20U, 0.0005}, {1U << 16U, 0.002}, {1U << 14U, 0.02}}) {
    stream_detector d;
    std::mt19937_64 random(1);
    double going_on = 0;
    for (int i = 0; i != 100000; ++i) going_on += d.miss(random() % lines) ? 1 : 0;
    EXPECT_LE(going_on / 100000, at_most) << lines << " lines, seed 1";
  }
}

/// What stream_detector says, by looking at each stream and each single for each miss.
class plain_detector {
 public:
  bool miss(std::uint64_t line) {
    ++now_;
    stream *next = nullptr, *again = nullptr, *oldest = streams_.data();
    for (stream& s : streams_) {
      const auto distance = static_cast<std::int64_t>(line - s.last);
      if (s.step != 0 && distance == s.step && (next == nullptr || std::abs(s.step) < std::abs(next->step))) next = &s;
      if (s.step != 0 && distance == 0) again = &s;
      if (s.used < oldest->used) oldest = &s;
    }
    if (stream* const found = next != nullptr ? next : again) {
      *found = {line, found->step, now_};
      return true;
    }
    const std::int64_t step = begun_at(line);
    if (step != 0) *oldest = {line, step, now_};
    if (std::find(singles_.begin(), singles_.end(), line) == singles_.end()) singles_.push_back(line);
    if (singles_.size() > stream_detector::singles) singles_.erase(singles_.begin());
    return step != 0;
  }

 private:
  struct stream {
    std::uint64_t last = 0;
    std::int64_t step = 0;
    std::uint64_t used = 0;
  };
  [[nodiscard]] std::int64_t begun_at(std::uint64_t line) const {
    for (std::int64_t d = 1; d <= stream_detector::distance_max; ++d) {
      for (const std::int64_t step : {d, -d}) {
        const auto one = std::find(singles_.begin(), singles_.end(), line - static_cast<std::uint64_t>(step));
        if (one == singles_.end()) continue;
        if (std::find(singles_.begin(), one, line - 2 * static_cast<std::uint64_t>(step)) != one) return step;
      }
    }
    return 0;
  }
  std::vector<stream> streams_{stream_detector::streams};
  std::vector<std::uint64_t> singles_;
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
