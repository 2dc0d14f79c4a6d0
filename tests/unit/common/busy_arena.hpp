/// For tests that look into the library: an arena with work, and how many workers of which domains it has.
#pragma once

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/arena/arena_access.hpp"
#include "sync/atomic.hpp"
#include "unit/common/await.hpp"

namespace homing::testing {

/// Workers by domain.
using counts = std::vector<int>;
inline int total(const counts& c) { return std::accumulate(c.begin(), c.end(), 0); }
inline int unevenness(const counts& c) {
  return *std::max_element(c.begin(), c.end()) - *std::min_element(c.begin(), c.end());
}

/// An arena, and what the manager gives it.
class watched_arena {
 public:
  template <typename... Settings>
  explicit watched_arena(Settings... settings) : arena_(settings...) {
    arena_.initialize();
  }

  /// Workers of each domain that the arena should have.
  [[nodiscard]] counts allotted() const {
    return by_domain([](const scheduler::arena_domain& d) { return d.allotted.load(sync::relaxed); });
  }
  /// Workers of each domain that are in the arena or on their way.
  [[nodiscard]] counts present() const {
    return by_domain([](const scheduler::arena_domain& d) { return d.active.load(sync::relaxed); });
  }
  /// Waits until both are so. A worker may leave a moment later, so nothing is read again.
  void expect(const counts& expected) const {
    if (!comes_true([&] { return allotted() == expected && present() == expected; })) {
      ADD_FAILURE() << "allotted " << ::testing::PrintToString(allotted()) << " and present "
                    << ::testing::PrintToString(present()) << ", never both " << ::testing::PrintToString(expected);
    }
  }
  /// Waits until `count` workers are there, wherever.
  void expect_total(int count) const {
    if (!comes_true([&] { return total(allotted()) == count && present() == allotted(); })) {
      ADD_FAILURE() << "allotted " << ::testing::PrintToString(allotted()) << " and present "
                    << ::testing::PrintToString(present()) << ", never " << count << " of each";
    }
  }
  /// Waits until `count` workers are there, and no domain has two more than another.
  void expect_spread(int count) const {
    counts now;
    EXPECT_TRUE(comes_true([&] {
      now = present();
      return total(now) == count && now == allotted() && unevenness(now) <= 1;
    })) << ::testing::PrintToString(now)
        << " present, never " << count << " and spread";
  }
  [[nodiscard]] int max_concurrency() const { return arena_.max_concurrency(); }

 protected:
  tbb::task_arena arena_;

 private:
  template <typename Number>
  counts by_domain(Number&& number) const {
    scheduler::arena& inside = *scheduler::arena_access::arena_of(arena_);
    counts result;
    for (const domain_index d : inside.all_domains()) {
      result.push_back(number(inside.domain(d)));
    }
    return result;
  }
};

/// An arena that always has work: tasks, twice as many as threads, each of which enqueues its successor when it ends,
/// so that workers may leave at any time. Application threads take no part.
class busy_arena : public watched_arena {
 public:
  template <typename... Settings>
  explicit busy_arena(Settings... settings) : watched_arena(settings...) {
    const int chains = 2 * arena_.max_concurrency();
    left_.store(chains, sync::relaxed);
    for (int i = 0; i < chains; ++i) {
      go_on();
    }
  }
  ~busy_arena() {
    over_.store(true, sync::release);
    // Its workers may all be with arenas of a higher priority; then it is the test that must let those go first.
    await("the end of an arena's work", [this] { return left_.load(sync::acquire) == 0; });
  }

 private:
  void go_on() {
    arena_.enqueue([this] {
      if (over_.load(sync::acquire)) {
        left_.fetch_sub(1, sync::release);
      } else {
        // Longer than a look for work: where many threads share a CPU they lose it here, not while they search, which
        // would keep others from being called.
        for (int i = 0; i < 3; ++i) {
          std::this_thread::yield();
        }
        go_on();
      }
    });
  }

  sync::atomic<int> left_{0};
  sync::atomic<bool> over_{false};
};

/// An arena with long tasks: each keeps its worker until the end.
class held_arena : public watched_arena {
 public:
  using watched_arena::watched_arena;
  ~held_arena() {
    over_.store(true, sync::release);
    await("the end of an arena's long tasks", [this] { return ended_.load(sync::acquire) == made_; });
  }
  /// So many tasks more; does not wait until they run.
  void add(int tasks) {
    made_ += tasks;
    for (int i = 0; i < tasks; ++i) {
      arena_.enqueue([this] {
        begun_.fetch_add(1, sync::release);
        while (!over_.load(sync::acquire)) {  // no limit of its own: expect() says better what is wrong
          std::this_thread::yield();
        }
        ended_.fetch_add(1, sync::release);
      });
    }
  }
  /// Waits until all tasks so far have a worker.
  void await_all() const {
    await("workers for long tasks", [this] { return begun_.load(sync::acquire) == made_; });
  }

 private:
  int made_ = 0;
  sync::atomic<int> begun_{0};
  sync::atomic<int> ended_{0};
  sync::atomic<bool> over_{false};
};

inline tbb::global_control threads(std::size_t count) { return {tbb::global_control::max_allowed_parallelism, count}; }
inline tbb::task_arena::constraints on_node(int node) { return tbb::task_arena::constraints{}.set_numa_id(node); }

}  // namespace homing::testing
