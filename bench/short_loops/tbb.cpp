// Short loops back to back, as solvers run them: each is over before idle threads have found much of it, so what shows
// is how fast threads come to a loop and leave it. An index sums up 16 values of an array that all threads read, 37
// apart.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <vector>

#include "../common/harness.hpp"

namespace {

constexpr std::size_t values_an_index = 16, stride = 37;

/// One case: loops of `size` indices by the default partitioner.
void loops_of(bench::session& session, const char* name, std::size_t size) {
  const std::vector<double> read(size, 1.0);
  std::vector<double> written(size, 0.0);
  session.measure(name, [&](std::uint64_t iterations, bench::stopwatch& watch) {
    std::fill(written.begin(), written.end(), 0.0);
    watch.start();
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, size), [&](const auto& part) {
        for (std::size_t index = part.begin(); index != part.end(); ++index) {
          double sum = 0;
          for (std::size_t k = 0; k != values_an_index; ++k) sum += read[(index + k * stride) % size];
          written[index] += sum;
        }
      });
    }
    watch.stop();
    const double expected = static_cast<double>(iterations * values_an_index);
    session.expect(std::all_of(written.begin(), written.end(), [&](double value) { return value == expected; }),
                   "each index is visited once a loop");
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "short_loops");
  loops_of(session, "n700", 700);
  loops_of(session, "n7000", 7000);
  return session.end();
}
