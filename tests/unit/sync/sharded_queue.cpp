// Each pusher's items keep their order, takers go round the shards, and the queue says that it is empty when it is.
#include "sync/sharded_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <utility>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/queued_item.hpp"

namespace {

using homing::sync::atomic;
using homing::sync::relaxed;

using item = homing::testing::queued_item;
using link = homing::testing::queued_item_link;

using queue = homing::sync::sharded_queue<item, link>;

item* take(queue& from, unsigned& next) {
  return from.try_take_if(next, [](const item&) { return true; });
}

TEST(sharded_queue, a_pushers_items_keep_their_order_and_pushers_take_turns) {
  std::array<queue::shard, 4> shards;
  queue all{shards};
  std::vector<item> items(30);
  for (unsigned i = 0; i < items.size(); ++i) {
    items[i].pusher = i % 3;
    items[i].number = i / 3;
    all.push(items[i], items[i].pusher);
  }
  unsigned next = 1;
  for (unsigned i = 0; i < items.size(); ++i) {
    const item* const got = take(all, next);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->pusher, (i + 1) % 3);
    EXPECT_EQ(got->number, i / 3);
  }
  EXPECT_EQ(take(all, next), nullptr);
  EXPECT_TRUE(all.empty());
}

TEST(sharded_queue, one_that_is_always_filled_keeps_no_other_waiting) {
  std::array<queue::shard, 8> shards;
  queue all{shards};
  item always[2];
  item once;
  all.push(once, 5);
  unsigned next = 2;
  unsigned taken = 0;
  for (item* got = nullptr; got != &once; ++taken) {
    all.push(always[taken % 2], 2);
    got = take(all, next);
    ASSERT_LT(taken, 2U);
  }
}

TEST(sharded_queue, is_empty_once_each_item_is_taken_whatever_the_takers_filter_refuses) {
  std::array<queue::shard, 1> shards;
  queue all{shards};
  std::vector<item> items(5);
  for (item& x : items) all.push(x, 77);  // any number names a shard
  unsigned next = 63;                     // of a queue with more shards
  EXPECT_EQ(all.try_take_if(next, [](const item&) { return false; }), nullptr);
  EXPECT_EQ(all.try_take_if(next, [&](const item& x) { return &x == &items[3]; }), &items[3]);
  for (const int i : {0, 1, 2, 4}) EXPECT_EQ(take(all, next), &items[static_cast<std::size_t>(i)]);
  EXPECT_TRUE(all.empty());
}

TEST(sharded_queue, a_shard_that_another_takes_from_is_passed_by) {
  std::array<queue::shard, 2> shards;
  queue all{shards};
  std::vector<item> items(3);
  all.push(items[0], 0);
  all.push(items[1], 0);
  all.push(items[2], 1);
  const item* meanwhile[2] = {};
  unsigned next = 0;
  EXPECT_EQ(all.try_take_if(next,
                            [&](const item&) {
                              std::thread([&] {
                                unsigned its_next = 0;
                                for (const item*& found : meanwhile) found = take(all, its_next);
                              }).join();
                              return true;
                            }),
            &items[0]);
  EXPECT_EQ(meanwhile[0], &items[2]);
  EXPECT_EQ(meanwhile[1], nullptr);
  EXPECT_EQ(take(all, next), &items[1]);
}

TEST(sharded_queue, each_item_reaches_exactly_one_taker_in_the_order_of_its_pusher) {
  constexpr unsigned pushers = 6;
  constexpr unsigned takers = 6;
  constexpr unsigned each = 4000;
  std::array<queue::shard, 4> shards;
  queue all{shards};
  std::vector<item> items(pushers * each);
  for (unsigned i = 0; i < items.size(); ++i) {
    items[i].pusher = i / each;
    items[i].number = i % each;
  }
  atomic<unsigned> taken{0};
  atomic<unsigned> out_of_order{0};
  std::vector<std::thread> threads;
  for (unsigned p = 0; p < pushers; ++p) {
    threads.emplace_back([&, p] {
      for (unsigned i = 0; i < each; ++i) all.push(items[p * each + i], p);
    });
  }
  for (unsigned t = 0; t < takers; ++t) {
    threads.emplace_back([&, next = t]() mutable {
      std::array<int, pushers> last;
      last.fill(-1);
      homing::testing::await("all items", [&] {
        if (item* const got = take(all, next)) {
          got->taken.fetch_add(1, relaxed);
          const auto number = static_cast<int>(got->number);
          out_of_order.fetch_add(number <= std::exchange(last[got->pusher], number) ? 1 : 0, relaxed);
          taken.fetch_add(1, relaxed);
        }
        return taken.load(relaxed) == pushers * each;
      });
    });
  }
  for (std::thread& t : threads) t.join();
  for (const item& x : items) ASSERT_EQ(x.taken.load(relaxed), 1U);
  EXPECT_EQ(out_of_order.load(relaxed), 0U);
  EXPECT_TRUE(all.empty());
}

}  // namespace
