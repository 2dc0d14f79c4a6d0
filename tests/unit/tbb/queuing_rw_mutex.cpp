// Requests are served in their order, and of readers who all want to write exactly one keeps the lock: real threads,
// whose place in the queue is probed.
#include <gtest/gtest.h>
#include <oneapi/tbb/queuing_rw_mutex.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

namespace {

using mutex_type = tbb::queuing_rw_mutex;
using lock_type = mutex_type::scoped_lock;

/// A reader can join a running reader until somebody else queues up.
void await_a_waiter(mutex_type& mutex) {
  for (lock_type probe; probe.try_acquire(mutex, false); probe.release()) {
    std::this_thread::yield();
  }
}

TEST(queuing_rw_mutex, a_waiting_writer_is_not_passed_by_readers) {
  mutex_type mutex;
  lock_type reader(mutex, false);
  std::atomic<int> order{0};
  int writer_at = 0;
  int late_reader_at = 0;
  std::thread writer([&] {
    const lock_type lock(mutex, true);
    writer_at = ++order;
  });
  await_a_waiter(mutex);
  std::thread late_reader([&] {
    const lock_type lock(mutex, false);
    late_reader_at = ++order;
  });
  reader.release();
  writer.join();
  late_reader.join();
  EXPECT_EQ(writer_at, 1);
  EXPECT_EQ(late_reader_at, 2);
}

TEST(queuing_rw_mutex, an_upgrade_passes_waiting_writers_but_not_running_readers) {
  mutex_type mutex;
  lock_type first(mutex, false);
  std::atomic<bool> upgraded{false};
  std::atomic<bool> reading{false};
  std::atomic<bool> wrote{false};
  std::thread upgrader([&] {
    lock_type second(mutex, false);
    reading = true;
    EXPECT_TRUE(second.upgrade_to_writer());
    EXPECT_FALSE(wrote.load());
    upgraded = true;
  });
  while (!reading.load()) {
    std::this_thread::yield();
  }
  await_a_waiter(mutex);  // the upgrade waits for the first reader, and holds off new ones
  std::thread writer([&] {
    const lock_type lock(mutex, true);
    EXPECT_TRUE(upgraded.load());
    wrote = true;
  });
  EXPECT_FALSE(upgraded.load());
  first.release();
  upgrader.join();
  writer.join();
}

TEST(queuing_rw_mutex, of_readers_who_upgrade_together_one_keeps_the_lock) {
  constexpr int thread_count = 8;
  for (int round = 0; round < 100; ++round) {
    mutex_type mutex;
    std::barrier all_read(thread_count);
    std::atomic<int> kept{0};
    int writes = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; ++i) {
      threads.emplace_back([&] {
        lock_type lock(mutex, false);
        all_read.arrive_and_wait();
        kept += lock.upgrade_to_writer() ? 1 : 0;
        EXPECT_TRUE(lock.is_writer());
        ++writes;
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(kept.load(), 1);
    EXPECT_EQ(writes, thread_count);
  }
}

TEST(queuing_rw_mutex, a_downgrade_lets_the_readers_behind_in) {
  mutex_type mutex;
  lock_type writer(mutex, true);
  constexpr int reader_count = 3;
  std::atomic<int> inside{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < reader_count; ++i) {
    readers.emplace_back([&] {
      const lock_type lock(mutex, false);
      ++inside;
      while (inside.load() < reader_count) {
        std::this_thread::yield();
      }
    });
  }
  EXPECT_EQ(inside.load(), 0);
  EXPECT_TRUE(writer.downgrade_to_reader());
  for (auto& thread : readers) {
    thread.join();  // ends while this thread still holds the lock as a reader
  }
  EXPECT_FALSE(writer.is_writer());
}

}  // namespace
