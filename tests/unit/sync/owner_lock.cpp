// A lock that is free for its owner keeps the owner and others apart, whoever comes when, and is the owner's again when
// nobody else comes any more ([OL1] to [OL4]).
#include "sync/owner_lock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/litmus.hpp"

namespace {

namespace sync = homing::sync;

/// Plain words that are equal unless somebody is inside: two at once leave them different, or lose a count.
class guarded_words {
 public:
  void change() {
    const unsigned next = words_[0] + 1;
    for (unsigned& w : words_) {
      torn_ += w + 1 != next ? 1U : 0U;
      w = next;
    }
  }
  [[nodiscard]] unsigned count() const { return words_[0]; }
  [[nodiscard]] unsigned torn() const { return torn_; }

 private:
  std::array<unsigned, 16> words_{};
  unsigned torn_ = 0;
};

/// The others come when the lock is the owner's alone, again and again: each time through the heavy fence.
TEST(owner_lock, keeps_its_owner_and_others_apart) {
  sync::prepare_asymmetric_fences();
  constexpr unsigned others = 2;
  constexpr unsigned visits = 20'000;
  constexpr unsigned enough = 3;
  sync::basic_owner_lock<enough> lock;
  guarded_words words;
  sync::atomic<unsigned> by_owner{0};
  sync::atomic<unsigned> visited{0};
  sync::atomic<unsigned> here{others};
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < others; ++k) {
    threads.emplace_back([&] {
      homing::testing::time_budget budget;
      for (unsigned visit = 0; visit < visits && budget.left(); ++visit, visited.fetch_add(1, sync::relaxed)) {
        const unsigned before = by_owner.load(sync::relaxed);
        homing::testing::await_spinning("the owner's sections",
                                        [&] { return by_owner.load(sync::relaxed) - before > enough + visit % 16; });
        const sync::scoped_owner_lock hold(lock, false);
        words.change();
      }
      here.fetch_sub(1, sync::relaxed);
    });
  }
  unsigned sections = 0;
  while (here.load(sync::relaxed) != 0) {
    {
      const sync::scoped_owner_lock hold(lock, true);
      words.change();
    }
    by_owner.store(++sections, sync::relaxed);
  }
  for (std::thread& t : threads) {
    t.join();
  }
  EXPECT_EQ(words.torn(), 0U);
  EXPECT_EQ(words.count(), sections + visited.load(sync::relaxed));
}

TEST(owner_lock, one_heavy_fence_serves_many) {
  sync::prepare_asymmetric_fences();
  std::array<sync::owner_lock, 4> locks;
  for (sync::owner_lock& lock : locks) {
    EXPECT_TRUE(lock.begin_lock_as_other());
  }
  sync::heavy_fence();
  for (sync::owner_lock& lock : locks) {
    lock.end_lock_as_other();
    lock.unlock_as_other();
  }
  for (sync::owner_lock& lock : locks) {
    EXPECT_FALSE(lock.begin_lock_as_other()) << "shared still";
    lock.end_lock_as_other();
    lock.unlock_as_other();
  }
}

TEST(owner_lock, is_its_owners_again_after_a_while) {
  sync::prepare_asymmetric_fences();
  sync::owner_lock lock;
  const auto owner_comes = [&](unsigned times) {
    for (unsigned i = 0; i < times; ++i) {
      lock.lock_as_owner();
      lock.unlock_as_owner();
    }
  };
  const auto is_shared = [&] {
    const bool was_shared = !lock.begin_lock_as_other();
    if (!was_shared) {
      sync::heavy_fence();
    }
    lock.end_lock_as_other();
    lock.unlock_as_other();
    return was_shared;
  };
  EXPECT_FALSE(is_shared());
  owner_comes(sync::alone_enough - 1);
  EXPECT_TRUE(is_shared());
  owner_comes(sync::alone_enough);
  EXPECT_FALSE(is_shared());
}

}  // namespace
