// parallel_sort of random and of already sorted numbers; each repetition sorts a fresh copy.
#include <oneapi/tbb/parallel_sort.h>

#include "../common/harness.hpp"

int main(int argc, char** argv) {
  bench::session session(argc, argv, "sort");
  std::vector<std::uint32_t> random(100'000);
  for (std::size_t index = 0; index < random.size(); ++index) {
    random[index] = static_cast<std::uint32_t>(bench::mix(session.seed() + index));
  }
  std::vector<std::uint32_t> sorted = random;
  std::sort(sorted.begin(), sorted.end());

  const auto run = [&](const std::vector<std::uint32_t>& input) {
    return [&, copy = input](std::uint64_t iterations, bench::stopwatch& watch) mutable {
      for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
        copy = input;
        watch.start();
        tbb::parallel_sort(copy.begin(), copy.end());
        watch.stop();
        session.expect(copy == sorted, "as std::sort has it");
      }
    };
  };
  session.measure("random", run(random));
  session.measure("sorted", run(sorted));
  return session.end();
}
