// Four threads of TBB, all at work at once, update an array that the first thread has touched: region "update".
#include <homing/lab.hpp>

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include <sched.h>

#include <atomic>
#include <cstdio>
#include <set>
#include <vector>

int main() {
  constexpr int threads = 4;
  constexpr long size = 1 << 18;
  std::vector<double> values(size, 1.0);
  std::atomic<int> here{0};
  int cpus[threads] = {};
  homing::lab::begin("update");
  oneapi::tbb::parallel_for(
      0, threads, 1,
      [&](int part) {
        // Acquire and release: all are here before any goes on.
        here.fetch_add(1, std::memory_order_acq_rel);
        while (here.load(std::memory_order_acquire) < threads) sched_yield();
        cpus[part] = sched_getcpu();
        for (long i = part * (size / threads); i != (part + 1) * (size / threads); ++i) values[i] = 2 * values[i] + 1;
      },
      oneapi::tbb::static_partitioner());
  homing::lab::end("update");
  double sum = 0;
  for (const double value : values) sum += value;
  std::printf("sum %.0f, CPUs %zu\n", sum, std::set<int>(cpus, cpus + threads).size());
}
