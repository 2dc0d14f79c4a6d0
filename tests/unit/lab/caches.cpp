// Caches evict the least recently used line of a set, know what is dirty, and give lines up. Method: sets of two and
// four ways, filled line by line.
#include <gtest/gtest.h>

#include "private_cache.hpp"
#include "shared_cache.hpp"

namespace {

using namespace homing::lab::model;
using permission = private_cache::permission;

constexpr std::uint64_t sets = 8;
const cache_shape two_ways{1, 2, 2}, four_ways{2, 4, 20};

TEST(LabPrivateCache, LeastRecentlyUsedLeaves) {
  private_cache cache(two_ways);
  EXPECT_FALSE(cache.insert(3, permission::shared, false).present);
  EXPECT_FALSE(cache.insert(3 + sets, permission::shared, false).present);
  cache.touch(cache.find(3));
  const auto out = cache.insert(3 + 2 * sets, permission::shared, false);
  EXPECT_TRUE(out.present);
  EXPECT_EQ(out.line, 3 + sets);
  EXPECT_FALSE(out.dirty);
  EXPECT_TRUE(cache.find(3));
  EXPECT_FALSE(cache.find(3 + sets));
}

TEST(LabPrivateCache, OtherSetsAreLeftAlone) {
  private_cache cache(two_ways);
  for (std::uint64_t line = 0; line != 2 * sets; ++line) {
    EXPECT_FALSE(cache.insert(line, permission::shared, false).present);
  }
  for (std::uint64_t line = 0; line != 2 * sets; ++line) EXPECT_TRUE(cache.find(line));
}

TEST(LabPrivateCache, DirtyLinesSaySo) {
  private_cache cache(two_ways);
  cache.insert(0, permission::writable, false);
  EXPECT_TRUE(cache.find(0).writable());
  EXPECT_TRUE(cache.mark_dirty(cache.find(0)));
  EXPECT_TRUE(cache.share(0));
  EXPECT_FALSE(cache.find(0).writable());
  EXPECT_FALSE(cache.find(0).dirty());
  cache.insert(0, permission::writable, true);
  EXPECT_TRUE(cache.invalidate(0));
  EXPECT_FALSE(cache.find(0));
  EXPECT_FALSE(cache.invalidate(0));
}

TEST(LabPrivateCache, AWriteToALineThatWasTakenFails) {
  private_cache cache(two_ways);
  cache.insert(0, permission::writable, false);
  const auto found = cache.find(0);
  cache.invalidate(0);
  EXPECT_FALSE(cache.mark_dirty(found));
}

TEST(LabSharedCache, LeastRecentlyUsedLeavesAndDirtStays) {
  shared_cache cache(four_ways);
  for (std::uint64_t i = 0; i != 4; ++i) EXPECT_FALSE(cache.insert(i * sets, i == 1).present);
  EXPECT_TRUE(cache.touch(0));
  EXPECT_FALSE(cache.insert(sets, false).present);  // here already, and still dirty
  auto out = cache.insert(4 * sets, false);
  EXPECT_EQ(out.line, 2 * sets);
  cache.insert(5 * sets, false);
  cache.insert(6 * sets, false);
  out = cache.insert(7 * sets, false);
  EXPECT_EQ(out.line, sets);
  EXPECT_TRUE(out.dirty);
}

TEST(LabSharedCache, FreeSlotsAreUsedFirst) {
  shared_cache cache(four_ways);
  for (std::uint64_t i = 0; i != 4; ++i) cache.insert(i * sets, true);
  EXPECT_TRUE(cache.invalidate(2 * sets));
  EXPECT_FALSE(cache.touch(2 * sets));
  EXPECT_FALSE(cache.insert(9 * sets, false).present);
  EXPECT_TRUE(cache.touch(0));
}

TEST(LabSharedCache, ALineThatIsHereMayBecomeDirtyAndGrowsNoYounger) {
  shared_cache cache(four_ways);
  for (std::uint64_t i = 0; i != 4; ++i) cache.insert(i * sets, false);
  EXPECT_TRUE(cache.has(0, true));
  EXPECT_TRUE(cache.has(0, false));
  EXPECT_FALSE(cache.has(4 * sets, true));
  const auto out = cache.insert(4 * sets, false);
  EXPECT_EQ(out.line, 0U);
  EXPECT_TRUE(out.dirty);
}

}  // namespace
