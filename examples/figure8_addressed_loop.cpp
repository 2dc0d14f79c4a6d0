// Figure 8 of the TBB-NUMA paper: a loop of 1000 iterations, of which the first half is addressed to one domain and the
// second half to another, because that is where their data is. With one domain there is nothing to address, and the
// loop is TBB's own.
#include <homing/distributed_array.hpp>
#include <homing/parallel_for.hpp>

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>

namespace {

constexpr std::size_t iterations = 1000;
constexpr std::size_t rounds = 100;

// What an iteration works on: a page of its own, so that it can have a home of its own.
struct alignas(4096) block {
  std::array<double, 512> values;
};

}  // namespace

int main() {
  // Iterations [0, 500) belong to domain 0 and [500, 1000) to domain 1, if there are two: generic domains, no hardware
  // ids.
  const homing::regular_distribution halves =
      homing::block(iterations, homing::domain_set::first(std::min(2U, homing::domain_count())));

  // The data, made by threads of those domains, in their memory.
  homing::distributed_array<block> data(halves);
  std::printf("placement: %s\n", data.placement().describe().c_str());

  // The work goes where the data is: the same object says so.
  std::atomic<std::size_t> at_home{0};
  for (std::size_t round = 0; round < rounds; ++round) {
    homing::parallel_for(
        tbb::blocked_range<std::size_t>(0, iterations),
        [&](const tbb::blocked_range<std::size_t>& part) {  // all of one home
          for (std::size_t i = part.begin(); i != part.end(); ++i) {
            for (double& value : data[i].values) value += static_cast<double>(i);
          }
          if (homing::current_domain() == halves.home_of(part.begin())) at_home += part.size();
        },
        halves);
  }
  std::printf("%u domains, %s: %zu of %zu iterations ran at home\n", homing::domain_count(),
              homing::runtime().is_homing ? "addresses are hints to the scheduler" : "stock oneTBB ignores addresses",
              at_home.load(), rounds * iterations);

  bool right = true;
  for (std::size_t i = 0; i < iterations; ++i) {
    right &= std::all_of(data[i].values.begin(), data[i].values.end(),
                         [&](double value) { return value == static_cast<double>(rounds * i); });
  }
  std::puts(right ? "every iteration ran once a round" : "WRONG: an iteration was lost, or ran twice");

  // Addresses are hints. But on a machine as busy as it may be, they do no worse than chance; unless there are fewer
  // threads than domains, so that some have none.
  const bool judged = tbb::this_task_arena::max_concurrency() >= static_cast<int>(homing::domain_count());
  const bool helps = !judged || at_home * homing::domain_count() >= rounds * iterations;
  if (!helps) std::puts("WRONG: fewer iterations at home than by chance");
  return right && helps ? 0 : 1;
}
