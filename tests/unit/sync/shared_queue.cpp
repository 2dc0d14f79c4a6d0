// Each item reaches exactly one taker, in each pusher's order, whatever filters pass over: single steps through a ring
// that grows and wraps, then eight pushers and eight takers.
#include "sync/shared_queue.hpp"

#include <gtest/gtest.h>

#include <new>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/queued_item.hpp"

namespace {

using homing::sync::acquire;
using homing::sync::atomic;
using homing::sync::relaxed;
using homing::sync::release;

using item = homing::testing::queued_item;
using link = homing::testing::queued_item_link;

template <typename T>
using shared_queue = homing::sync::shared_queue<T, link>;

bool memory_is_out = false;  // for arrays, nothrow: the ring

TEST(shared_queue, first_in_first_out_while_the_ring_wraps_and_grows) {
  shared_queue<item> queue;
  std::vector<item> items(1000);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.take(), nullptr);
  std::size_t pushed = 0;
  std::size_t taken = 0;
  while (pushed < items.size()) {  // 3 in, 2 out: grows with its start anywhere
    for (std::size_t i = 0; i < 3 && pushed < items.size(); ++i) {
      queue.push(items[pushed++]);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(queue.take(), &items[taken++]);
    }
  }
  while (taken < items.size()) {
    ASSERT_EQ(queue.take(), &items[taken++]);
  }
  EXPECT_EQ(queue.take(), nullptr);
  EXPECT_TRUE(queue.empty());
}

TEST(shared_queue, a_filter_takes_from_the_middle_and_the_rest_keeps_its_order) {
  for (unsigned start = 0; start < 40; ++start) {  // with the ring's start at every place
    shared_queue<item> queue;
    std::vector<item> items(start + 12);
    for (unsigned i = 0; i < start; ++i) {
      queue.push(items[i]);
      ASSERT_EQ(queue.take(), &items[i]);
    }
    for (unsigned i = 0; i < 12; ++i) {
      items[start + i].number = i;
      queue.push(items[start + i]);
    }
    const auto is = [](unsigned wanted) { return [wanted](const item& x) { return x.number == wanted; }; };
    EXPECT_TRUE(queue.has_if(is(7)));
    EXPECT_EQ(queue.take_if(is(7)), &items[start + 7]);
    EXPECT_FALSE(queue.has_if(is(7)));
    EXPECT_EQ(queue.take_if(is(7)), nullptr);
    EXPECT_EQ(queue.take_if(is(11)), &items[start + 11]);
    EXPECT_EQ(queue.take_if(is(0)), &items[start]);
    for (const unsigned rest : {1U, 2U, 3U, 4U, 5U, 6U, 8U, 9U, 10U}) {
      ASSERT_EQ(queue.take(), &items[start + rest]);
    }
    EXPECT_TRUE(queue.empty());
  }
}

TEST(shared_queue, who_does_not_wait_passes_a_queue_by_while_another_takes_from_it) {
  shared_queue<item> queue;
  std::vector<item> items(2);
  queue.push(items[0]);
  queue.push(items[1]);
  const auto any = [](const item&) { return true; };
  const item* meanwhile = &items[0];
  EXPECT_EQ(queue.try_take_if([&](const item&) {
    std::thread([&] { meanwhile = queue.try_take_if(any); }).join();
    return true;
  }),
            &items[0]);
  EXPECT_EQ(meanwhile, nullptr);
  EXPECT_EQ(queue.try_take_if(any), &items[1]);
  EXPECT_EQ(queue.try_take_if(any), nullptr);
}

TEST(shared_queue, one_item_may_be_in_twice) {
  shared_queue<item> queue;
  item same;
  queue.push(same);
  queue.push(same);
  EXPECT_EQ(queue.take(), &same);
  EXPECT_EQ(queue.take(), &same);
  EXPECT_EQ(queue.take(), nullptr);
}

TEST(shared_queue, without_memory_for_a_larger_ring_items_are_linked_in_order_and_move_into_it_later) {
  for (unsigned start = 0; start < 20; ++start) {  // with the ring's start at every place, and before there is one
    shared_queue<item> queue;
    std::vector<item> items(100);
    std::size_t taken = 0;
    for (unsigned i = 0; i < start; ++i) {
      queue.push(items[i]);
      ASSERT_EQ(queue.take(), &items[taken++]);
    }
    memory_is_out = true;
    for (unsigned i = start; i < 60; ++i) {
      items[i].number = i;
      queue.push(items[i]);
    }
    EXPECT_THROW(queue.push(items[59]), std::bad_alloc) << "linked twice";
    const auto is_50 = [](const item& x) { return x.number == 50; };
    EXPECT_TRUE(queue.has_if(is_50));
    EXPECT_EQ(queue.take_if(is_50), &items[50]);
    EXPECT_FALSE(queue.has_if(is_50));
    while (taken < 40) {
      ASSERT_EQ(queue.take(), &items[taken++]);
    }
    queue.push(items[60]);
    memory_is_out = false;
    queue.push(items[60]);  // is linked no more: all have moved
    ASSERT_FALSE(items[60].is_linked);
    for (unsigned i = 61; i < 100; ++i) {
      queue.push(items[i]);
    }
    for (; taken < 61; ++taken) {
      if (taken != 50) {
        ASSERT_EQ(queue.take(), &items[taken]);
      }
    }
    ASSERT_EQ(queue.take(), &items[60]);
    for (; taken < 100; ++taken) {
      ASSERT_EQ(queue.take(), &items[taken]);
    }
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.take(), nullptr);
  }
}

TEST(shared_queue, each_item_reaches_exactly_one_taker_in_the_order_of_its_pusher) {
  constexpr unsigned side = 8;
  constexpr unsigned each = 20'000;
  shared_queue<item> queue;
  std::vector<std::vector<item>> items(side);
  for (auto& row : items) {
    row = std::vector<item>(each);
  }
  atomic<unsigned> left{side * each};
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < side; ++k) {
    threads.emplace_back([&, k] {
      for (unsigned i = 0; i < each; ++i) {
        items[k][i].pusher = k;
        items[k][i].number = i + 1;
        queue.push(items[k][i]);
        if (i % 512 == 0) {
          std::this_thread::yield();  // so that takers find it empty now and then
        }
      }
    });
    threads.emplace_back([&, k] {
      std::vector<unsigned> newest(side, 0);  // by pusher; only of the items that this taker accepts
      homing::testing::await("the last items", [&] {
        // Every second taker passes over one pusher's items.
        item* x = k % 2 == 0 ? queue.take() : queue.take_if([&](const item& i) { return i.pusher != k; });
        if (x == nullptr) {
          return left.load(acquire) == 0;
        }
        EXPECT_LT(newest[x->pusher], x->number) << "pusher " << x->pusher << "'s items changed places";
        newest[x->pusher] = x->number;
        x->taken.fetch_add(1, relaxed);
        left.fetch_sub(1, release);
        return false;
      });
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  for (const auto& row : items) {
    for (const item& x : row) {
      ASSERT_EQ(x.taken.load(relaxed), 1U) << "pusher " << x.pusher << ", item " << x.number;
    }
  }
  EXPECT_TRUE(queue.empty());
}

}  // namespace

// The ring's allocation, and nobody else's here.
void* operator new[](std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  return memory_is_out ? nullptr : ::operator new[](bytes);  // not malloc(): it is freed by operator delete[]
}
