/// Threads, each bound to a CPU, that begin a piece of work together, and how long the slowest was at it.
#pragma once

#include <homing/ids.hpp>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "sync/atomic.hpp"

namespace homing::measure {

/// Threads: made, used and ended by one thread, which sleeps while the others work.
class team {
 public:
  /// What a member does; it gets its place, 0..size-1. Must not throw.
  using work = std::function<void(std::size_t)>;

  /// A thread for each entry, bound to that CPU. Errors: std::runtime_error if a thread can't be had; a CPU that
  /// refuses is counted by unbound().
  explicit team(const std::vector<cpu_id>& cpus);
  team(const team&) = delete;
  team& operator=(const team&) = delete;
  ~team();

  /// All members do `w` at the same time. Returns the seconds from the first's beginning to the last's end.
  double run(const work& w);
  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  /// Members that run wherever the system puts them, because binding was refused.
  [[nodiscard]] std::size_t unbound() const noexcept { return unbound_; }

 private:
  struct times {
    double begin_s;
    double end_s;
  };
  void live(std::size_t place, cpu_id cpu);
  void finish();

  std::mutex lock_;
  std::condition_variable called_;      // the members wait for a round, or for the end
  std::condition_variable done_;        // run() waits for the last
  const work* work_ = nullptr;          // under lock_; the members read it once called
  unsigned long round_ = 0;             // under lock_
  std::size_t busy_ = 0;                // under lock_: members that have not finished the round
  std::size_t unbound_ = 0;             // under lock_ until the constructor ends
  bool ended_ = false;                  // under lock_
  sync::atomic<std::size_t> ready_{0};  // members at the start line of this round
  std::vector<times> times_;            // each member its own; read when all are done
  std::vector<std::thread> members_;
};

}  // namespace homing::measure
