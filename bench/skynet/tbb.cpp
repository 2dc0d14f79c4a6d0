// Skynet: a tree of tasks, ten children each, with a million leaves that return their number.
#include <oneapi/tbb/task_group.h>

#include <array>
#include <numeric>

#include "../common/harness.hpp"

namespace {

constexpr std::uint64_t fan_out = 10;

std::uint64_t skynet(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) return first;
  std::array<std::uint64_t, fan_out> sums{};
  const std::uint64_t each = leaves / fan_out;
  tbb::task_group children;
  for (std::uint64_t child = 0; child < fan_out; ++child) {
    children.run([&sums, child, first, each] { sums[child] = skynet(first + child * each, each); });
  }
  children.wait();
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "skynet");
  session.measure("million", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      session.expect(skynet(0, 1'000'000) == 499'999'500'000, "the sum of all leaves");
    }
  });
  return session.end();
}
