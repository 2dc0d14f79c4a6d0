// CPU time that the process burns in the second after a loop, when there is nothing to do.
#include <oneapi/tbb/parallel_for.h>

#include <chrono>
#include <thread>

#include "../common/harness.hpp"

int main(int argc, char** argv) {
  bench::session session(argc, argv, "idle");
  session.measure("second_after_loop",
                  [](std::uint64_t iterations, bench::stopwatch& watch) {
                    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
                      tbb::parallel_for(0, 100'000, [](int index) {
                        bench::keep(bench::chain(static_cast<std::uint64_t>(index), bench::steps_100_ns));
                      });
                      watch.start();
                      std::this_thread::sleep_for(std::chrono::seconds(1));
                      watch.stop();
                    }
                  },
                  {.load = bench::weight::heavy, .kind = bench::figure::cpu});
  return session.end();
}
