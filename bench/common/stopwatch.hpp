// Wall and CPU time of one measured region, which may be entered several times.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>

namespace bench {

/// CPU time of the whole process so far, user plus system, in nanoseconds.
///
/// The kernel accounts a thread that runs on another CPU at its next tick, so one reading may lag
/// by up to a tick for each of them. The lags at both ends cancel out over many repetitions.
inline std::int64_t process_cpu_ns() noexcept {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1'000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

/// Monotonic wall time in nanoseconds.
inline std::int64_t wall_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Adds up the regions between start() and stop(); or times that the program took by itself.
///
/// Threads: one thread only; the CPU time is that of all threads of the process.
class stopwatch {
 public:
  void start() noexcept {
    cpu_started_ns_ = process_cpu_ns();
    wall_started_ns_ = wall_ns();
  }
  void stop() noexcept {
    wall_total_ns_ += wall_ns() - wall_started_ns_;
    cpu_total_ns_ += process_cpu_ns() - cpu_started_ns_;
  }
  /// Records a wall time taken elsewhere, such as from an enqueue to the start of the task.
  void add_wall(std::int64_t ns) noexcept { wall_total_ns_ += ns; }
  /// Records a CPU time taken elsewhere.
  void add_cpu(std::int64_t ns) noexcept { cpu_total_ns_ += ns; }

  [[nodiscard]] std::int64_t wall_total_ns() const noexcept { return wall_total_ns_; }
  [[nodiscard]] std::int64_t cpu_total_ns() const noexcept { return cpu_total_ns_; }

 private:
  std::int64_t wall_started_ns_ = 0;
  std::int64_t cpu_started_ns_ = 0;
  std::int64_t wall_total_ns_ = 0;
  std::int64_t cpu_total_ns_ = 0;
};

}  // namespace bench
