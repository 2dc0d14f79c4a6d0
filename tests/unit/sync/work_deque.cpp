/// Every item reaches exactly one taker: an owner pushes and pops with filters while six thieves steal, seeded.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <thread>
#include <vector>

#include "sync/work_deque.hpp"
#include "unit/common/litmus.hpp"

namespace {

using homing::sync::work_deque;

constexpr std::uint64_t seed = 20261121;

struct numbers {
  std::uint64_t state;
  unsigned below(unsigned bound) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<unsigned>((state >> 33U) % bound);
  }
};

TEST(work_deque, each_item_reaches_exactly_one_taker) {
  constexpr std::size_t count = 300'000;
  work_deque deque;
  std::vector<homing::sync::atomic<unsigned>> taken(count + 1);
  homing::sync::atomic<bool> over{false};
  const auto take = [&](std::uintptr_t item) { taken[item].fetch_add(1, homing::sync::relaxed); };

  std::vector<std::thread> thieves;
  for (unsigned k = 0; k < 6; ++k) {
    thieves.emplace_back([&, k] {
      numbers random{seed + k};
      while (!over.load(homing::sync::acquire)) {
        const unsigned left_out = random.below(8);
        deque.expect_steal();  // changes nothing, whatever the others do
        std::array<homing::sync::deque_item, 8> got;
        const std::size_t several = deque.steal_some(std::span(got).first(1 + random.below(8)), 1 + random.below(16),
                                                     [&](std::uint64_t tag) { return tag != left_out; });
        for (std::size_t i = 0; i < several; ++i) {
          take(got[i].item);
        }
      }
    });
  }
  numbers random{seed};
  for (std::size_t next = 1; next <= count;) {
    for (unsigned n = random.below(200); n > 0 && next <= count; --n, ++next) {
      deque.push(next, next & 3U);
    }
    const unsigned only = random.below(8);
    for (unsigned n = random.below(210); n > 0; --n) {
      const auto got = deque.pop([&](std::uint64_t tag) { return only > 3 || tag == only; });
      if (got.item == 0) {
        break;
      }
      take(got.item);
    }
  }
  for (auto got = deque.pop([](std::uint64_t) { return true; }); got.item != 0;
       got = deque.pop([](std::uint64_t) { return true; })) {
    take(got.item);
  }
  over.store(true, homing::sync::release);
  for (std::thread& t : thieves) {
    t.join();
  }
  for (std::size_t i = 1; i <= count; ++i) {
    ASSERT_EQ(taken[i].load(homing::sync::relaxed), 1U) << "item " << i << ", seed " << seed;
  }
  EXPECT_TRUE(deque.looks_empty());
}

/// [D12] Also while the owner moves entries in their array, and pushes where it has popped.
TEST(work_deque, no_thief_passes_the_oldest_entry_over) {
  constexpr unsigned rounds = 1'500'000;
  constexpr std::uintptr_t oldest = 1;
  const auto all = [](std::uint64_t) { return true; };
  const auto none = [](std::uint64_t) { return false; };
  work_deque deque;
  homing::testing::meeting start;
  homing::testing::time_budget thiefs_budget;
  homing::testing::time_budget owners_budget;
  homing::sync::atomic<std::uintptr_t> stolen{0};
  std::thread thief([&] {
    for (unsigned round = 1; round <= rounds && start.meet(round, thiefs_budget); ++round) {
      homing::testing::restlessness pace;
      std::uintptr_t got = 0;
      for (unsigned looks = 0; got == 0; ++looks) {  // the owner is at work before the first claim
        got = looks < round % 64 ? deque.steal(none).item : deque.steal(all).item;
        pace.round(got != 0);
      }
      stolen.store(got, homing::sync::release);
    }
  });
  numbers random{seed};
  const auto fill_and_push_oldest = [&] {
    for (unsigned n = 8 + random.below(7); n > 0; --n) {  // the array is full soon
      deque.push(2, 0);
      ASSERT_EQ(deque.steal(all).item, 2U) << "nobody else is there";
    }
    deque.push(oldest, 0);
  };
  unsigned passed_over = 0;
  fill_and_push_oldest();
  for (unsigned round = 1; round <= rounds && start.meet(round, owners_budget); ++round) {
    homing::testing::restlessness pace;
    std::size_t younger = 0;
    while (stolen.load(homing::sync::acquire) == 0) {
      for (unsigned n = random.below(6); n > 0 && younger < 4; --n, ++younger) {  // and never more than half of it live
        deque.push(3, 0);
      }
      for (unsigned n = random.below(6); n > 0 && younger > 0; --n, --younger) {
        EXPECT_NE(deque.pop(all).item, oldest) << "a younger one was stolen";
      }
      pace.round(false);
    }
    passed_over += stolen.exchange(0, homing::sync::relaxed) != oldest ? 1 : 0;
    while (deque.pop(all).item != 0) {
    }
    fill_and_push_oldest();
  }
  thief.join();
  EXPECT_EQ(passed_over, 0U);
}

TEST(work_deque, owner_takes_the_youngest_and_thief_the_oldest_that_fits) {
  work_deque deque;
  for (std::uintptr_t i = 1; i <= 100; ++i) {
    deque.push(i, i & 1U);
  }
  const auto even = [](std::uint64_t tag) { return tag == 0; };
  const auto any = [](std::uint64_t) { return true; };
  EXPECT_EQ(deque.pop(even).item, 100U);
  EXPECT_EQ(deque.pop(even).item, 98U);
  EXPECT_EQ(deque.pop(any).item, 99U);
  EXPECT_EQ(deque.steal(even).item, 2U);
  EXPECT_EQ(deque.steal(any).item, 1U);
  EXPECT_EQ(deque.steal(any).item, 3U);
}

TEST(work_deque, a_thief_takes_several_of_many_and_one_of_few) {
  const auto any = [](std::uint64_t) { return true; };
  work_deque deque;
  constexpr std::size_t one_of = 32;
  constexpr std::uintptr_t count = 4 * one_of;
  for (std::uintptr_t i = 1; i <= count; ++i) {
    deque.push(i, 0);
  }
  std::array<homing::sync::deque_item, 8> got;
  ASSERT_EQ(deque.steal_some(got, one_of, any), 4U) << "one for " << one_of << " in sight";
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(got[i].item, i + 1) << "the oldest first";
  }
  EXPECT_EQ(deque.steal_some(std::span(got).first(2), one_of, any), 2U) << "no more than there is room for";
  EXPECT_EQ(got[0].item, 5U);
  while (deque.about_size() >= one_of) {
    static_cast<void>(deque.pop(any));
  }
  EXPECT_EQ(deque.steal_some(got, one_of, any), 1U) << "one of few";
  EXPECT_EQ(got[0].item, 7U);
  while (deque.pop(any).item != 0) {
  }
  for (std::uintptr_t i = 1; i <= 100; ++i) {
    deque.push(i, i == 3 ? 1 : 0);
  }
  const auto even = [](std::uint64_t tag) { return tag == 0; };
  EXPECT_EQ(deque.steal_some(got, 1, even), 2U) << "none behind one that is passed over";
  EXPECT_EQ(deque.steal_some(got, 1, even), got.size()) << "but the first may lie behind one";
  EXPECT_EQ(got[0].item, 4U);
  EXPECT_EQ(deque.steal_some(got, one_of, [](std::uint64_t tag) { return tag == 2; }), 0U)
      << "none that it may not have";
}

}  // namespace
