// A lock that many take, try and wait for keeps them apart; and a wish left to the holder after a failed try is never
// overlooked ([A6]).
#include "sync/mutex.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "unit/common/litmus.hpp"

namespace {

namespace sync = homing::sync;

TEST(mutex, keeps_threads_apart) {
  constexpr unsigned threads = 6;
  constexpr unsigned rounds = 30'000;
  sync::mutex lock;
  unsigned guarded = 0;  // plain: a race detector would see two holders
  std::vector<std::thread> all;
  for (unsigned k = 0; k < threads; ++k) {
    all.emplace_back([&, k] {
      for (unsigned round = 0; round < rounds; ++round) {
        if (k % 2 == 0 || !lock.try_lock()) {
          lock.lock();
        }
        ++guarded;
        lock.unlock();
      }
    });
  }
  for (std::thread& t : all) {
    t.join();
  }
  EXPECT_EQ(guarded, threads * rounds);
}

TEST(mutex, a_try_fails_only_where_somebody_holds_it) {
  sync::mutex lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  const std::lock_guard hold(lock);
  EXPECT_FALSE(lock.try_lock());
}

/// As demand_changed(): whoever can't have the lock leaves its wish to the holder, who looks after its unlock.
TEST(mutex, a_wish_left_to_the_holder_is_seen) {
  constexpr unsigned rounds = 100'000;
  sync::mutex lock;
  sync::atomic<bool> dirty{false};
  unsigned served = 0;  // under the lock
  homing::testing::meeting together;
  unsigned met = 0;
  unsigned wishes_left = 0;
  const auto wish = [&] {
    dirty.store(true, sync::seq_cst);
    while (dirty.load(sync::seq_cst) && lock.try_lock()) {
      dirty.store(false, sync::seq_cst);
      ++served;
      lock.unlock();
    }
  };
  std::thread other([&] {
    homing::testing::time_budget budget;
    for (unsigned round = 1; round <= rounds && together.meet(2 * round - 1, budget); ++round) {
      homing::testing::dawdle(round % 11);
      wish();
      together.meet(2 * round);
    }
  });
  homing::testing::time_budget budget;
  for (unsigned round = 1; round <= rounds && together.meet(2 * round - 1, budget); ++round) {
    ++met;
    homing::testing::dawdle(round % 7);
    wish();
    together.meet(2 * round);
    wishes_left += dirty.load(sync::seq_cst) ? 1U : 0U;
  }
  other.join();
  EXPECT_EQ(wishes_left, 0U);
  EXPECT_GE(served, met);
}

}  // namespace
