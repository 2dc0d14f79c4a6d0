/// How a thread works through a range of its own: in pieces, so that others can take a part once that takes long.
///
/// Short work stays whole: a thread that has run dry would take longer to get a part than the owner to do it. All but
/// the first piece is forked on the thread's lane, without an atomic operation, and others look past the lane for some
/// microseconds.
///
/// Source: Tzannes et al. 2014 (lazy scheduling: a part is split off when somebody has use for it).
#pragma once

#include <homing/detail/loop_parts.hpp>
#include <homing/fork_join.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace homing::detail {

/// While a thread does work that may well be short, its data in `home`: other threads look past it at first, and those
/// of other domains for longer. Unless they may have something of the thread's already.
class settled_work {
 public:
  explicit settled_work(std::optional<std::uint32_t> home) : lane_(lane_of_caller()) {
    if (lane_ == nullptr) return;
    if (lane_->has_forks()) {
      lane_ = nullptr;
      return;
    }
    const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
    lane_->began_ns.store(now.count(), std::memory_order_relaxed);
    lane_->home.store(home.value_or(fork_lane::no_home), std::memory_order_relaxed);
  }
  ~settled_work() {
    if (lane_ == nullptr) return;
    lane_->began_ns.store(0, std::memory_order_relaxed);
    lane_->home.store(fork_lane::no_home, std::memory_order_relaxed);
  }
  settled_work(const settled_work&) = delete;
  settled_work& operator=(const settled_work&) = delete;

 private:
  fork_lane* lane_;  ///< perhaps no longer this thread's: a body may have been suspended
};

/// A fold over ranges: body(range, value) goes on with a value, join(left, right) puts two together, in the order of
/// the range.
template <class Range, class Value, class Body, class Join>
class range_fold {
 public:
  /// `home`: the domain of the range's data.
  range_fold(const Value& identity, const Body& body, const Join& join, tbb::task_group_context& context,
             std::optional<std::uint32_t> home)
      : identity_(identity), body_(body), join_(join), context_(context), home_(home) {}

  /// `value` and then all of `range`; less if the group is cancelled.
  [[nodiscard]] Value run(const Range& range, Value value) const { return halve(range, std::move(value), halvings); }

 private:
  static constexpr unsigned halvings = 3;

  /// `depth` times, and finer where another thread does it than that which forked.
  [[nodiscard]] Value halve(Range range, Value value, unsigned depth) const {
    if (context_.is_group_execution_cancelled()) return value;
    if (depth == 0 || !range.is_divisible()) return body_(std::as_const(range), std::move(value));
    tbb::split halves;
    const Range right(range, halves);
    const fork_lane* const here = lane_of_caller();
    // As in oneTBB's reductions: whoever does the right half after the left goes on with its value. Else it is joined.
    std::atomic<bool> is_left_done{false};
    std::optional<Value> apart;
    fork_join(
        [&] {
          value = halve(range, std::move(value), depth - 1);
          is_left_done.store(true, std::memory_order_release);
        },
        [&] {
          const bool is_elsewhere = lane_of_caller() != here;
          const unsigned next = is_elsewhere ? depth + 1 : depth - 1;
          std::optional<settled_work> there;
          if (is_elsewhere) there.emplace(home_);
          if (is_left_done.load(std::memory_order_acquire)) {
            value = halve(right, std::move(value), next);
          } else {
            apart.emplace(halve(right, Value(identity_), next));
          }
        });
    if (apart) return join_(std::move(value), *std::move(apart));
    return value;
  }

  const Value& identity_;
  const Body& body_;
  const Join& join_;
  tbb::task_group_context& context_;
  const std::optional<std::uint32_t> home_;
};

}  // namespace homing::detail
