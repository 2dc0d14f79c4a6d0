/// What the tests of locality queues share: machines, threads that say where they are, and a ledger of what was taken.
#pragma once

#include <homing/locality_queues.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "topology/snapshot.hpp"
#include "unit/common/topology_fixture.hpp"

namespace homing::testing {

/// The domain that the calling thread claims to be in: a thread's own setting.
struct claimed_domain {
  static inline thread_local domain_index value{0};
  domain_index operator()() const noexcept { return value; }
};

inline topology::snapshot machine_of(const std::string& text) {
  return topology::make_snapshot(topology::testing::synthetic(text));
}
inline domain_index domain(std::size_t index) { return static_cast<domain_index>(index); }

/// Counts how often each item was seen.
class ledger {
 public:
  explicit ledger(std::size_t items) : seen_(items) {}
  void note(std::size_t item) { seen_.at(item).fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] ::testing::AssertionResult all_seen_once() const {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (const int times = seen_[i].load(std::memory_order_relaxed); times != 1) {
        return ::testing::AssertionFailure() << "item " << i << " was seen " << times << " times";
      }
    }
    return ::testing::AssertionSuccess();
  }

 private:
  std::vector<std::atomic<int>> seen_;
};

/// Runs f(0) to f(count - 1), each on a thread of its own, at the same time.
template <class F>
void on_threads(std::size_t count, F f) {
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) threads.emplace_back([&f, t] { f(t); });
  for (std::thread& thread : threads) thread.join();
}

/// Makes a machine the process's for a while.
class current_machine {
 public:
  explicit current_machine(const topology::snapshot& machine) { topology::set_current(machine); }
  current_machine(const current_machine&) = delete;
  current_machine& operator=(const current_machine&) = delete;
  ~current_machine() { topology::refresh(); }
};

}  // namespace homing::testing
