/// The next input of a pipeline, between the tasks that may fetch it.
///
/// Whoever has fetched an item offers the next input. A task whose item is through, or waits for its turn, takes the
/// offer and goes on: in the middle of a stream nobody spawns or steals. For threads that have nothing to do there is
/// the helper, a task in somebody's deque, of which one at most is on its way; it takes what is offered when it runs.
///
/// Where items are short, a thread leaves what another has offered: then fetching in turn costs more than it wins, and
/// the stream stays with its thread.
///
/// Threads:  any; of all that ask, one gets the input.
/// Protocol: docs/protocols/pipeline.md.
/// Source:   the limits are measured: `make bench` (pipeline/light, pipeline/1us).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sync/atomic.hpp"

namespace homing::scheduler {

/// The least that an item of late took: what it takes a thread that nobody disturbs. Any thread adds.
class least_time {
 public:
  // relaxed, all: a hint; of two threads that add at once, one may be lost.
  void add(std::int64_t ns) noexcept {
    constexpr unsigned samples_max = 4;
    const unsigned samples = samples_.load(sync::relaxed) + 1;
    samples_.store(samples, sync::relaxed);
    if (samples % samples_max == 0) {
      before_ns_.store(of_late_ns_.load(sync::relaxed), sync::relaxed);
      of_late_ns_.store(ns, sync::relaxed);
    } else if (ns < of_late_ns_.load(sync::relaxed)) {
      of_late_ns_.store(ns, sync::relaxed);
    }
  }
  /// More than any time, before the first.
  [[nodiscard]] std::int64_t ns() const noexcept {
    return std::min(before_ns_.load(sync::relaxed), of_late_ns_.load(sync::relaxed));
  }

 private:
  static constexpr std::int64_t unknown_ns = std::numeric_limits<std::int64_t>::max();
  sync::atomic<unsigned> samples_{0};
  sync::atomic<std::int64_t> of_late_ns_{unknown_ns};
  sync::atomic<std::int64_t> before_ns_{unknown_ns};
};

class input_offer {
 public:
  /// [PI4] The next input may be fetched, by one. `by` is the offering task, aligned to four bytes at least; it is
  /// compared, not used. True if the caller must make the helper: none is on its way.
  bool offer(const void* by) noexcept {
    // release, for the acquire of take() and take_by_helper(): what the input filter has done goes from one that
    // fetches to the next. Under ThreadSanitizer unit.runtime_pipeline reports a race where one of the three is
    // relaxed.
    return (word_.fetch_or(address(by) | waits | helper_is_out, sync::release) & helper_is_out) == 0;
  }

  /// [PI6] True if input was offered, by the asking task or worth its way from another one: the caller fetches it.
  bool take(const void* asking) noexcept {
    // relaxed: the exchange decides; a look spares the line where nothing waits.
    const std::uintptr_t seen = word_.load(sync::relaxed);
    if ((seen & waits) == 0 || ((seen & ~flags) != address(asking) && !is_worth_sharing())) {
      return false;
    }
    return (word_.fetch_and(helper_is_out, sync::acquire) & waits) != 0;
  }

  /// [PI7] By the helper, when it runs: true if input was offered, and it fetches it. The next offer needs a new one.
  bool take_by_helper() noexcept { return (word_.exchange(0, sync::acquire) & waits) != 0; }

  /// Whether items take so long that threads that fetch in turn win by it.
  [[nodiscard]] bool is_worth_sharing() const noexcept {
    constexpr std::int64_t pays_ns = 400;
    return item_time_.ns() >= pays_ns;
  }

  /// An item took one thread so long, from the input filter to its end.
  void add_item_time(std::int64_t ns) noexcept { item_time_.add(ns); }

 private:
  static std::uintptr_t address(const void* of) noexcept { return reinterpret_cast<std::uintptr_t>(of); }

  // One word, so that an offer is seen by the helper that is out, or needs a new one.
  static constexpr std::uintptr_t waits = 1;
  static constexpr std::uintptr_t helper_is_out = 2;
  static constexpr std::uintptr_t flags = waits | helper_is_out;
  sync::atomic<std::uintptr_t> word_{0};
  least_time item_time_;
};

/// The rights to be under way. While none is left, input stands still.
class input_tokens {
 public:
  /// More than can be counted are as good as any number that no items reach.
  explicit input_tokens(std::size_t count) noexcept
      : left_(static_cast<std::intptr_t>(std::min<std::size_t>(count, INTPTR_MAX))) {}

  /// [PI3] By whoever has fetched an item, for that one: false if it was the last, and input stands still.
  /// release, for give_back(): what the input filter has done goes from one input task to the next.
  bool take() noexcept { return left_.fetch_sub(1, sync::release) > 1; }
  /// [PI5] By a task whose item is through: true if input stood still, and the caller has it. acquire, for take().
  bool give_back() noexcept { return left_.fetch_add(1, sync::acquire) == 0; }

 private:
  sync::atomic<std::intptr_t> left_;
};

}  // namespace homing::scheduler
