/// Threads, one a CPU, that start together: a probe's workers. They sleep until all are prepared; then they spin
/// until all are awake, for a CPU that has work to do keeps the others from running away from it, in the lab, and one
/// that is to wake does not.
#pragma once

#include <pthread.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "guest.hpp"

namespace homing::lab::probes {

/// Runs `work(i)` on CPU `cpus[i]`, each in a thread of its own: `prepare(i)` first, then all at once, `all_ready` in
/// between.
inline void run_team(const std::vector<unsigned>& cpus, const std::function<void(std::size_t)>& prepare,
                     const std::function<void()>& all_ready, const std::function<void(std::size_t)>& work) {
  pthread_barrier_t prepared, start;
  pthread_barrier_init(&prepared, nullptr, static_cast<unsigned>(cpus.size()) + 1);
  pthread_barrier_init(&start, nullptr, static_cast<unsigned>(cpus.size()) + 1);
  std::atomic<std::size_t> awake{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i != cpus.size(); ++i) {
    threads.emplace_back([&, i] {
      run_on(cpus[i]);
      prepare(i);
      pthread_barrier_wait(&prepared);
      pthread_barrier_wait(&start);
      // Acquire and release: nothing of the work before all are here.
      awake.fetch_add(1, std::memory_order_acq_rel);
      while (awake.load(std::memory_order_acquire) != cpus.size()) __builtin_ia32_pause();
      work(i);
    });
  }
  pthread_barrier_wait(&prepared);
  all_ready();
  pthread_barrier_wait(&start);
  for (std::thread& t : threads) t.join();
  pthread_barrier_destroy(&prepared);
  pthread_barrier_destroy(&start);
}

}  // namespace homing::lab::probes
