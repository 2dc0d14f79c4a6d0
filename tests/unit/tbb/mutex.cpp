// Writers exclude all, readers run together, and no thread waits for ever: sixteen threads do seeded random locking on
// every mutex the library implements.
#include <gtest/gtest.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr unsigned seed = 4711;
constexpr unsigned thread_count = 16;

template <typename Body>
void run_threads(unsigned count, Body body) {
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < count; ++id) {
    threads.emplace_back([&body, id] { body(id); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

// The speculative mutexes by their own names: the public aliases depend on the compiler's switches.
using rtm_mutex = tbb::detail::d1::rtm_mutex;
using rtm_rw_mutex = tbb::detail::d1::rtm_rw_mutex;

template <typename Mutex>
class any_mutex : public ::testing::Test {};
using all_mutexes = ::testing::Types<tbb::mutex, tbb::rw_mutex, tbb::queuing_rw_mutex, rtm_mutex, rtm_rw_mutex>;
TYPED_TEST_SUITE(any_mutex, all_mutexes);

TYPED_TEST(any_mutex, excludes) {
  TypeParam mutex;
  long counter = 0;
  constexpr int rounds = 2000;
  run_threads(thread_count, [&](unsigned id) {
    for (int round = 0; round < rounds; ++round) {
      typename TypeParam::scoped_lock lock;
      if ((static_cast<unsigned>(round) + id) % 8 == 0) {
        while (!lock.try_acquire(mutex)) {
          std::this_thread::yield();
        }
      } else {
        lock.acquire(mutex);
      }
      ++counter;
      if (round % 100 == 0) {
        std::this_thread::yield();  // loses the CPU with the lock held, as happens
      }
      lock.release();
    }
  });
  EXPECT_EQ(counter, static_cast<long>(rounds) * thread_count);
}

TYPED_TEST(any_mutex, a_try_on_a_held_mutex_fails_and_leaves_the_lock_free) {
  TypeParam mutex;
  typename TypeParam::scoped_lock held(mutex);
  std::thread([&] {
    typename TypeParam::scoped_lock lock;
    EXPECT_FALSE(lock.try_acquire(mutex));
  }).join();
  held.release();
  EXPECT_TRUE(held.try_acquire(mutex));
}

template <typename Mutex>
class any_rw_mutex : public ::testing::Test {};
using rw_mutexes = ::testing::Types<tbb::rw_mutex, tbb::queuing_rw_mutex, rtm_rw_mutex>;
TYPED_TEST_SUITE(any_rw_mutex, rw_mutexes);

TYPED_TEST(any_rw_mutex, readers_run_together) {
  TypeParam mutex;
  std::atomic<int> inside{0};
  run_threads(4, [&](unsigned) {
    typename TypeParam::scoped_lock lock(mutex, false);
    ++inside;
    while (inside.load() < 4) {  // ends only if all four hold the lock at once
      std::this_thread::yield();
    }
  });
}

TYPED_TEST(any_rw_mutex, kinds_change_as_asked) {
  TypeParam mutex;
  typename TypeParam::scoped_lock lock(mutex, false);
  EXPECT_FALSE(lock.is_writer());
  EXPECT_TRUE(lock.upgrade_to_writer());
  EXPECT_TRUE(lock.is_writer());
  EXPECT_TRUE(lock.upgrade_to_writer());
  EXPECT_TRUE(lock.downgrade_to_reader());
  EXPECT_FALSE(lock.is_writer());
  EXPECT_TRUE(lock.downgrade_to_reader());
  typename TypeParam::scoped_lock second;
  EXPECT_TRUE(second.try_acquire(mutex, false));
}

/// All operations, at random, with a count of who is inside and a pair that only writers may change.
TYPED_TEST(any_rw_mutex, stress_random_operations) {
  this->RecordProperty("seed", static_cast<int>(seed));
  TypeParam mutex;
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};
  long first = 0;
  long second = 0;
  const auto read = [&] {
    ++readers;
    EXPECT_EQ(writers.load(), 0);
    EXPECT_EQ(first, second);
    --readers;
  };
  const auto write = [&](std::mt19937& random) {
    EXPECT_EQ(writers.fetch_add(1), 0);
    EXPECT_EQ(readers.load(), 0);
    EXPECT_EQ(first, second);
    ++first;
    if (random() % 64 == 0) {
      std::this_thread::yield();
    }
    ++second;
    --writers;
  };
  std::atomic<long> written{0};
  run_threads(thread_count, [&](unsigned id) {
    std::mt19937 random(seed + id);
    for (int round = 0; round < 1500; ++round) {
      typename TypeParam::scoped_lock lock;
      const bool as_writer = random() % 4 == 0;
      if (random() % 8 != 0) {
        lock.acquire(mutex, as_writer);
      } else if (!lock.try_acquire(mutex, as_writer)) {
        continue;
      }
      if (as_writer) {
        write(random);
        ++written;
        if (random() % 2 == 0) {
          const long before = second;
          EXPECT_TRUE(lock.downgrade_to_reader());
          EXPECT_EQ(second, before) << "a downgrade let a writer pass";
          read();
        }
      } else {
        read();
        if (random() % 4 == 0) {
          const long before = second;
          if (lock.upgrade_to_writer()) {
            EXPECT_EQ(second, before) << "an upgrade without release let a writer pass";
          }
          write(random);
          ++written;
        }
      }
    }
  });
  EXPECT_EQ(first, written.load());
  typename TypeParam::scoped_lock lock;
  EXPECT_TRUE(lock.try_acquire(mutex, true)) << "something is still in the queue";
}

}  // namespace
