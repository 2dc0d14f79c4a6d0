/// What the tests of pipelines with homes share: machines, a pipeline's books, and load that is even by construction.
#pragma once

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/parallel_pipeline.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/held_threads.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/pace.hpp"

namespace homing::testing {

using tbb::filter_mode;
using parallelism = tbb::global_control;

inline constexpr unsigned threads_a_domain = 2;
inline environment machine_of(unsigned domains) {
  return on_machine("node:" + std::to_string(domains) + " core:2 pu:1");
}
/// On stock oneTBB there is one domain, and homes mean nothing.
inline bool homes_count() { return runtime().is_homing; }

/// An item that is no pointer and must be destroyed: its life is counted.
class item {
 public:
  item(std::size_t number, std::atomic<long>& alive) : number_(number), alive_(&alive) { alive_->fetch_add(1); }
  item(const item& other) : item(other.number_, *other.alive_) {}
  item& operator=(const item&) = delete;
  ~item() { alive_->fetch_sub(1); }
  [[nodiscard]] std::size_t number() const noexcept { return number_; }

 private:
  std::size_t number_;
  std::atomic<long>* alive_;
};

/// One stage's books: who came, in which order, how many at once.
class stage_books {
 public:
  stage_books(filter_mode mode, std::size_t items) : mode_(mode), seen_(items) {}

  /// While it lives, an item is in the stage.
  class visit {
   public:
    visit(stage_books& books, std::size_t number) : books_(books) {
      const int before = books.inside_.fetch_add(1);
      if (books.mode_ != filter_mode::parallel && before != 0) books.wrong_.fetch_add(1);
      const std::size_t turn = books.entered_.fetch_add(1);
      if (books.mode_ == filter_mode::serial_in_order && turn != number) books.wrong_.fetch_add(1);
      books.seen_.at(number).fetch_add(1);
    }
    ~visit() { books_.inside_.fetch_sub(1); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

   private:
    stage_books& books_;
  };

  void expect_all_once() const {
    EXPECT_EQ(wrong_.load(), 0) << "items at once, or out of order, in a serial stage";
    EXPECT_TRUE(std::all_of(seen_.begin(), seen_.end(), [](const auto& times) { return times.load() == 1; }));
  }
  void expect_none_twice() const {
    EXPECT_EQ(wrong_.load(), 0) << "items at once, or out of order, in a serial stage";
    EXPECT_TRUE(std::all_of(seen_.begin(), seen_.end(), [](const auto& times) { return times.load() <= 1; }));
  }
  [[nodiscard]] std::size_t entered() const noexcept { return entered_.load(); }

 private:
  const filter_mode mode_;
  std::vector<std::atomic<int>> seen_;
  std::atomic<int> inside_{0};
  std::atomic<std::size_t> entered_{0};
  std::atomic<int> wrong_{0};
};

/// A first filter's body: items 0, 1, ... and then the end; how many are under way is held against the token limit.
class source {
 public:
  source(std::size_t items, std::size_t tokens) : items_(items), tokens_(tokens) {}
  item next(tbb::flow_control& control) {
    if (fetched_.load() == items_) {
      at_end_.store(true);
      control.stop();
      return item(0, alive_);
    }
    if (live_.fetch_add(1) >= tokens_) too_many_.store(true);
    return item(fetched_.fetch_add(1), alive_);
  }
  /// To be called by the last filter's body, at its end.
  void retire() { live_.fetch_sub(1); }
  [[nodiscard]] bool all_fetched() const noexcept { return fetched_.load() == items_; }
  /// Somebody has asked for more than there is: the filter is at its end, or held there by next_or_hold().
  [[nodiscard]] bool at_end() const noexcept { return at_end_.load(); }
  /// As next(), but the thread that comes to the end stays there until `may_go()`.
  template <class MayGo>
  item next_or_hold(tbb::flow_control& control, MayGo&& may_go) {
    if (all_fetched()) {
      at_end_.store(true);
      await("what the first filter waits for at its end", may_go);
    }
    return next(control);
  }
  [[nodiscard]] bool exceeded() const noexcept { return too_many_.load(); }
  [[nodiscard]] long alive() const noexcept { return alive_.load(); }

 private:
  const std::size_t items_;
  const std::size_t tokens_;
  std::atomic<std::size_t> fetched_{0};
  std::atomic<std::size_t> live_{0};
  std::atomic<bool> at_end_{false};
  std::atomic<bool> too_many_{false};
  std::atomic<long> alive_{0};
};

/// Calls of stages by home: how many ran there.
class home_tally {
 public:
  void note(unsigned home) {
    all_.fetch_add(1);
    if (to_index(current_domain()) == home) at_home_.fetch_add(1);
  }
  [[nodiscard]] std::size_t all() const noexcept { return all_.load(); }
  [[nodiscard]] double share() const { return static_cast<double>(at_home_.load()) / static_cast<double>(all_.load()); }

 private:
  std::atomic<std::size_t> all_{0};
  std::atomic<std::size_t> at_home_{0};
};

}  // namespace homing::testing
