// Each posted item reaches exactly one taker, in each poster's order, and a full ring refuses: single steps, then eight
// posters and eight takers, seeded.
#include "sync/mailbox.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "unit/common/await.hpp"

namespace {

using homing::sync::acquire;
using homing::sync::atomic;
using homing::sync::mailbox;
using homing::sync::relaxed;
using homing::sync::release;

constexpr auto any = [](std::uint64_t) { return true; };

TEST(mailbox, gives_in_the_order_of_posting) {
  mailbox box(8);
  EXPECT_EQ(box.take(any), 0U);
  for (std::uintptr_t lap = 0; lap < 100; ++lap) {  // many laps of the ring
    for (std::uintptr_t i = 1; i <= 5; ++i) {
      ASSERT_TRUE(box.post(lap * 10 + i, i));
    }
    for (std::uintptr_t i = 1; i <= 5; ++i) {
      EXPECT_TRUE(box.has([&](std::uint64_t tag) { return tag == i; }));
      ASSERT_EQ(box.take([&](std::uint64_t tag) { return tag == i; }), lap * 10 + i);
    }
    ASSERT_FALSE(box.has(any));
  }
}

TEST(mailbox, room_is_rounded_up_to_a_power_of_two) {
  for (const auto& [wanted, room] : {std::pair{0U, 2U}, {1U, 2U}, {2U, 2U}, {3U, 4U}, {64U, 64U}, {65U, 128U}}) {
    mailbox box(wanted);
    for (std::uintptr_t i = 1; i <= room; ++i) {
      ASSERT_TRUE(box.post(i, 0)) << "item " << i << " of a mailbox for " << wanted;
    }
    EXPECT_FALSE(box.post(1000, 0)) << "a mailbox for " << wanted;
  }
}

TEST(mailbox, a_full_ring_refuses_and_loses_nothing) {
  mailbox box(4);
  for (std::uintptr_t i = 1; i <= 4; ++i) {
    ASSERT_TRUE(box.post(i, 0));
  }
  EXPECT_FALSE(box.post(5, 0));
  EXPECT_EQ(box.take(any), 1U);
  EXPECT_TRUE(box.post(6, 0)) << "a taken item leaves room for one";
  EXPECT_FALSE(box.post(7, 0));
  for (const std::uintptr_t expected : {2U, 3U, 4U, 6U, 0U}) {
    EXPECT_EQ(box.take(any), expected);
  }
}

TEST(mailbox, a_taker_never_looks_behind_an_item_that_it_may_not_take) {
  mailbox box(4);
  const auto only_two = [](std::uint64_t tag) { return tag == 2; };
  ASSERT_TRUE(box.post(11, 1));
  ASSERT_TRUE(box.post(22, 2));
  EXPECT_FALSE(box.has(only_two));
  EXPECT_EQ(box.take(only_two), 0U);
  EXPECT_EQ(box.take(any), 11U);
  EXPECT_TRUE(box.has(only_two));
  EXPECT_EQ(box.take(only_two), 22U);
}

/// Items are poster * stride + number. A small ring, so that it is full and empty all the time; each taker checks that
/// the numbers of each poster rise.
TEST(mailbox, each_item_reaches_exactly_one_taker_in_the_order_of_its_poster) {
  constexpr unsigned side = 8;
  constexpr std::uintptr_t stride = 1U << 16U;
  constexpr std::uintptr_t each = 40'000;
  mailbox box(16);
  std::vector<atomic<unsigned>> taken(side * stride);
  std::vector<std::uint64_t> payload(side * stride);  // plain: a race detector sees whether post() publishes it
  atomic<std::uintptr_t> left{side * each};
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < side; ++k) {
    threads.emplace_back([&, k] {
      for (std::uintptr_t i = 1; i <= each; ++i) {
        const std::uintptr_t item = k * stride + i;
        payload[item] = ~item;
        homing::testing::await("room in the mailbox", [&] { return box.post(item, item & 3U); });
      }
    });
    threads.emplace_back([&, k] {
      std::vector<std::uintptr_t> newest(side, 0);
      homing::testing::await("the last items", [&] {
        const std::uintptr_t item = box.take([&](std::uint64_t tag) { return k % 2 == 0 || tag != 3; });
        if (item == 0) {
          return left.load(acquire) == 0;
        }
        EXPECT_EQ(payload[item], ~item);
        EXPECT_LT(newest[item / stride], item % stride) << "poster " << item / stride << "'s items changed places";
        newest[item / stride] = item % stride;
        taken[item].fetch_add(1, relaxed);
        left.fetch_sub(1, release);
        return false;
      });
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  for (unsigned k = 0; k < side; ++k) {
    for (std::uintptr_t i = 1; i <= each; ++i) {
      ASSERT_EQ(taken[k * stride + i].load(relaxed), 1U) << "poster " << k << ", item " << i;
    }
  }
  EXPECT_EQ(box.take(any), 0U);
}

}  // namespace
