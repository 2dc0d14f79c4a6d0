// Tasks, as many as threads, each of which waits for all others.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "stopwatch.hpp"

namespace bench {

/// Nanoseconds from the call, in an arena of `threads`, until the last of so many tasks has begun; -1 if they don't all
/// begin within about `longest_wait`.
inline std::int64_t until_all_work(int threads, std::chrono::nanoseconds longest_wait) {
  std::atomic<int> begun{0};
  std::atomic<std::int64_t> last_ns{0};
  std::atomic<bool> all_came{true};
  const std::int64_t sent_ns = wall_ns();
  tbb::parallel_for(
      tbb::blocked_range<int>(0, threads, 1),
      [&](const tbb::blocked_range<int>&) {
        if (begun.fetch_add(1) + 1 == threads) {
          last_ns.store(wall_ns());
          return;
        }
        const auto give_up = std::chrono::steady_clock::now() + longest_wait;
        while (last_ns.load(std::memory_order_acquire) == 0 && all_came.load(std::memory_order_relaxed)) {
          std::this_thread::yield();  // there may be fewer CPUs than threads
          if (std::chrono::steady_clock::now() > give_up) all_came.store(false);
        }
      },
      tbb::simple_partitioner{});
  return all_came.load() ? last_ns.load() - sent_ns : -1;
}

}  // namespace bench
