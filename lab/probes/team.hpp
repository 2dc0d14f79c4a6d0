/// Threads, one a CPU, that start together: a probe's workers. They sleep until they start, so that nobody spins.
#pragma once

#include <pthread.h>

#include <functional>
#include <thread>
#include <vector>

#include "guest.hpp"

namespace homing::lab::probes {

/// Runs `work(i)` on CPU `cpus[i]`, each in a thread of its own: `prepare(i)` first, then all at once, `all_ready` in between.
inline void run_team(const std::vector<unsigned>& cpus, const std::function<void(std::size_t)>& prepare,
                     const std::function<void()>& all_ready, const std::function<void(std::size_t)>& work) {
  pthread_barrier_t prepared, start;
  pthread_barrier_init(&prepared, nullptr, static_cast<unsigned>(cpus.size()) + 1);
  pthread_barrier_init(&start, nullptr, static_cast<unsigned>(cpus.size()) + 1);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i != cpus.size(); ++i) {
    threads.emplace_back([&, i] {
      run_on(cpus[i]);
      prepare(i);
      pthread_barrier_wait(&prepared);
      pthread_barrier_wait(&start);
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
