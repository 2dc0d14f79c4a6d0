// The helper thread that resumes suspended tasks, in an order and after delays of its own.
#pragma once

#include <tbb/task.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "rng.hpp"

namespace stress {

/// Owns one thread. Every posted point is resumed once; the destructor resumes what is left.
class resumer {
 public:
  resumer();
  ~resumer();
  resumer(const resumer&) = delete;
  resumer& operator=(const resumer&) = delete;

  /// Hands a point over. Any thread, also from within the suspend callback.
  void post(tbb::task::suspend_point point, std::uint64_t seed);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<tbb::task::suspend_point> waiting_;  // guarded by mutex_
  std::uint64_t seed_ = 1;                         // guarded by mutex_
  bool stop_ = false;                              // guarded by mutex_
  std::thread thread_;
};

/// Suspends the calling task; who resumes it, and when, depends on the seed: the callback itself,
/// another thread before the callback has ended, or the helper thread later.
void suspend_once(resumer& helper, std::uint64_t seed);

}  // namespace stress
