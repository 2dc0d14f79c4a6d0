/// Threads, one a CPU, that start together and end together: a probe's workers. They sleep until all are prepared; then
/// they spin until all are awake, for a CPU that has work to do keeps the others from running away from it, in the lab,
/// and one that is to wake does not. At the end they spin until all are through, so that nobody's way out is measured.
#pragma once

#include <pthread.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "guest.hpp"
#include "instructions.hpp"

namespace homing::lab::probes {

/// Waits, awake, until all `of` them are here.
class meeting_point {
 public:
  explicit meeting_point(std::size_t of) : of_(of) {}
  void meet() {
    // Acquire and release: what all did before is seen by all after.
    here_.fetch_add(1, std::memory_order_acq_rel);
    while (here_.load(std::memory_order_acquire) < of_) instructions::pause();
  }

 private:
  std::size_t of_;
  std::atomic<std::size_t> here_{0};
};

/// Runs `work(i)` on CPU `cpus[i]`, each in a thread of its own: `prepare(i)` first; `begin` once all are awake and
/// before any works, `end` once all have worked and before any ends.
inline void run_team(const std::vector<unsigned>& cpus, const std::function<void(std::size_t)>& prepare,
                     const std::function<void()>& begin, const std::function<void(std::size_t)>& work,
                     const std::function<void()>& end) {
  pthread_barrier_t prepared;
  pthread_barrier_init(&prepared, nullptr, static_cast<unsigned>(cpus.size()));
  meeting_point awake(cpus.size()), begun(cpus.size()), done(cpus.size()), ended(cpus.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i != cpus.size(); ++i) {
    threads.emplace_back([&, i] {
      run_on(cpus[i]);
      prepare(i);
      pthread_barrier_wait(&prepared);
      awake.meet();
      if (i == 0) begin();
      begun.meet();
      work(i);
      done.meet();
      if (i == 0) end();
      ended.meet();
    });
  }
  for (std::thread& t : threads) t.join();
  pthread_barrier_destroy(&prepared);
}

}  // namespace homing::lab::probes
