// A bounded queue blocks, wakes, aborts and loses nothing: producers and consumers on a queue of few slots.
#include <gtest/gtest.h>
#include <oneapi/tbb/concurrent_queue.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

TEST(bounded_queue, every_item_arrives_once_through_a_few_slots) {
  constexpr int producers = 4;
  constexpr int consumers = 4;
  constexpr int items = 5000;  // a producer
  for (const int capacity : {1, 2, 7}) {
    tbb::concurrent_bounded_queue<int> queue;
    queue.set_capacity(capacity);
    std::vector<std::atomic<int>> seen(producers * items);
    std::vector<std::thread> threads;
    for (int p = 0; p < producers; ++p) {
      threads.emplace_back([&, p] {
        for (int i = 0; i < items; ++i) {
          queue.push(p * items + i);
        }
      });
    }
    for (int c = 0; c < consumers; ++c) {
      threads.emplace_back([&] {
        for (int i = 0; i < producers * items / consumers; ++i) {
          int item = -1;
          queue.pop(item);
          ++seen[static_cast<std::size_t>(item)];
        }
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    for (const auto& count : seen) {
      ASSERT_EQ(count.load(), 1);
    }
    EXPECT_TRUE(queue.empty());
  }
}

TEST(bounded_queue, a_pop_waits_for_a_push_of_either_kind) {
  tbb::concurrent_bounded_queue<int> queue;
  queue.set_capacity(1);
  for (int round = 0; round < 1000; ++round) {
    std::atomic<int> got{-1};
    std::thread consumer([&] {
      int item = 0;
      queue.pop(item);
      got = item;
    });
    if (round % 2 == 0) {
      queue.push(round);
    } else {
      while (!queue.try_push(round)) {
        std::this_thread::yield();
      }
    }
    consumer.join();
    EXPECT_EQ(got.load(), round);
  }
}

/// Poppers show that they wait by the queue's size, which counts them as missing items.
TEST(bounded_queue, abort_ends_waiting_pops_and_the_queue_lives_on) {
  tbb::concurrent_bounded_queue<int> queue;
  constexpr int poppers = 6;
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> aborted{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < poppers; ++i) {
      threads.emplace_back([&] {
        int item = 0;
        EXPECT_THROW(queue.pop(item), tbb::user_abort);
        ++aborted;
      });
    }
    while (queue.size() > -poppers) {
      std::this_thread::yield();
    }
    queue.abort();
    for (auto& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(aborted.load(), poppers);
    queue.push(round);
    int item = -1;
    queue.pop(item);
    EXPECT_EQ(item, round);
  }
}

TEST(bounded_queue, abort_ends_waiting_pushes) {
  tbb::concurrent_bounded_queue<int> queue;
  queue.set_capacity(1);
  queue.push(0);
  std::thread pusher([&] { EXPECT_THROW(queue.push(1), tbb::user_abort); });
  while (queue.size() < 2) {
    std::this_thread::yield();
  }
  queue.abort();
  pusher.join();
  int item = -1;
  queue.pop(item);
  EXPECT_EQ(item, 0);
}

}  // namespace
