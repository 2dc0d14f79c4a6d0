// Every object is aligned, distinct while alive and comes back to its pool from any thread: single steps, then a
// seeded stress.
#include "memory/small_object_pool.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace {

using homing::memory::object_pool;

/// A pool for the scope of a test, given back at its end. Domains of their own keep tests apart.
class pool_lease {
 public:
  explicit pool_lease(unsigned domain) : pool_(object_pool::acquire(domain)) {}
  ~pool_lease() { object_pool::release(pool_); }
  pool_lease(const pool_lease&) = delete;
  pool_lease& operator=(const pool_lease&) = delete;
  object_pool* operator->() const { return &pool_; }
  object_pool* get() const { return &pool_; }

 private:
  object_pool& pool_;
};

TEST(object_pool, objects_are_aligned_distinct_and_writable_at_every_size) {
  const pool_lease pool(100);
  std::vector<std::pair<unsigned char*, std::size_t>> objects;
  for (std::size_t bytes = 0; bytes <= 2 * object_pool::object_bytes_max; ++bytes) {
    auto* const object = static_cast<unsigned char*>(pool->allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % object_pool::grain_bytes, 0U) << bytes;
    std::memset(object, static_cast<int>(bytes % 251), bytes);
    objects.emplace_back(object, bytes);
  }
  for (const auto& [object, bytes] : objects) {
    for (std::size_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(object[i], bytes % 251) << "object of " << bytes << " bytes overwritten at " << i;
    }
    pool->deallocate_local(object, bytes);
  }
}

TEST(object_pool, a_type_may_be_aligned_to_128) {
  const pool_lease pool(107);
  for (int round = 0; round < 20; ++round) {
    for (std::size_t bytes = 128; bytes <= 2 * object_pool::object_bytes_max; bytes += 128) {
      static_cast<void>(pool->allocate(64));  // so that objects are carved at any grain
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool->allocate(bytes)) % 128, 0U) << bytes;
    }
  }
}

TEST(object_pool, the_last_object_freed_is_the_next_one_used_in_its_class_only) {
  const pool_lease pool(101);
  void* const small = pool->allocate(64);
  void* const large = pool->allocate(65);
  pool->deallocate_local(small, 64);
  pool->deallocate_local(large, 65);
  EXPECT_EQ(pool->allocate(1), small);
  EXPECT_EQ(pool->allocate(128), large);
  pool->deallocate_local(small, 1);
  pool->deallocate_local(large, 128);
}

TEST(object_pool, objects_freed_by_others_come_back_before_new_memory_is_used) {
  const pool_lease pool(102);
  std::set<void*> first;
  for (int i = 0; i < 100; ++i) {
    first.insert(pool->allocate(192));
  }
  std::thread([&] {
    for (void* object : first) {
      pool->deallocate_remote(object, 192);
    }
  }).join();
  std::set<void*> second;
  for (int i = 0; i < 100; ++i) {
    second.insert(pool->allocate(192));
  }
  EXPECT_EQ(first, second);
  for (void* object : second) {
    pool->deallocate_local(object, 192);
  }
}

TEST(object_pool, large_objects_may_be_freed_by_anybody) {
  const pool_lease pool(103);
  void* const object = pool->allocate(4096);
  void* const another = pool->allocate(4096);
  std::thread([&] {
    pool->deallocate_remote(object, 4096);
    const pool_lease other(110);
    other->deallocate(*pool.get(), another, 4096);
  }).join();
}

TEST(object_pool, an_orphan_serves_the_next_thread_of_its_domain_only) {
  object_pool* first = nullptr;
  void* object = nullptr;
  std::thread([&] {
    first = &object_pool::acquire(104);
    object = first->allocate(64);
    object_pool::release(*first);
  }).join();
  // The object outlives its thread, comes back to the orphan, and serves the pool's next owner.
  first->deallocate_remote(object, 64);
  const pool_lease other(105);
  EXPECT_NE(other.get(), first);
  EXPECT_EQ(other->domain(), 105U);
  std::thread([&] {
    const pool_lease adopted(104);
    EXPECT_EQ(adopted.get(), first);
    void* const again = adopted->allocate(64);
    EXPECT_EQ(again, object);
    adopted->deallocate_local(again, 64);
  }).join();
}

TEST(object_pool, the_child_of_a_fork_goes_on) {
  const pool_lease pool(108);
  void* const object = pool->allocate(64);
  const pid_t child = ::fork();
  if (child == 0) {
    const pool_lease fresh(106);
    pool->deallocate_local(object, 64);
    ::_exit(pool->allocate(64) == object && fresh.get() != pool.get() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  pool->deallocate_local(object, 64);
}

/// Threads that come and go allocate, hand objects to each other, and free them locally or remotely. Each object
/// carries its own address and size, so that one handed out twice is seen by whoever checks it.
TEST(object_pool, stress_threads_that_exchange_objects_and_end) {
  constexpr unsigned seed = 20240611;
  RecordProperty("seed", static_cast<int>(seed));
  struct stamp {
    object_pool* pool;
    std::size_t bytes;
    void* self;
  };
  std::mutex mutex;
  std::vector<stamp*> shared;
  const auto check = [](const stamp* s) {
    EXPECT_EQ(s->self, s);
    EXPECT_EQ(reinterpret_cast<const unsigned char*>(s)[s->bytes - 1], static_cast<unsigned char>(s->bytes));
  };
  const auto worker = [&](unsigned id) {
    std::mt19937 random(seed + id);
    const pool_lease pool(110 + id % 2);
    std::vector<stamp*> mine;
    for (int i = 0; i < 3000; ++i) {
      const std::size_t bytes = sizeof(stamp) + 1 + random() % 600;
      auto* const object = static_cast<stamp*>(pool->allocate(bytes));
      *object = {pool.get(), bytes, object};
      reinterpret_cast<unsigned char*>(object)[bytes - 1] = static_cast<unsigned char>(bytes);
      mine.push_back(object);
      if (random() % 3 == 0) {
        const std::lock_guard guard(mutex);
        mine.swap(shared);
      }
      while (!mine.empty() && random() % 2 == 0) {
        stamp* const last = mine.back();
        mine.pop_back();
        check(last);
        object_pool* const home = last->pool;
        const std::size_t size = last->bytes;
        last->self = nullptr;
        if (home == pool.get()) {
          home->deallocate_local(last, size);
        } else {
          home->deallocate_remote(last, size);
        }
      }
    }
    const std::lock_guard guard(mutex);
    shared.insert(shared.end(), mine.begin(), mine.end());
  };
  for (int generation = 0; generation < 4; ++generation) {
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < 8; ++id) {
      threads.emplace_back(worker, static_cast<unsigned>(generation) * 8 + id);
    }
    for (auto& thread : threads) {
      thread.join();
    }
  }
  for (stamp* object : shared) {
    check(object);
    object->pool->deallocate_remote(object, object->bytes);
  }
}

}  // namespace
