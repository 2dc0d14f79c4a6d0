// What addresses cost: a loop with a distribution beside one with static_partitioner, tasks with and without an
// address, and the question where one is. On stock oneTBB addresses mean nothing, and cost next to nothing.
#include <oneapi/tbb/parallel_for.h>
#include <homing/parallel_for.hpp>
#include <homing/tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../common/harness.hpp"

int main(int argc, char** argv) {
  bench::session session(argc, argv, "homes");
  constexpr std::size_t size = 1 << 17;
  std::vector<double> data(size, 1.0);
  const tbb::blocked_range<std::size_t> all(0, size);
  const auto sweep = [&](const tbb::blocked_range<std::size_t>& r) {
    for (std::size_t i = r.begin(); i != r.end(); ++i) data[i] = data[i] * 0.5 + 1.0;
  };
  const auto dist = homing::block(size);
  session.measure("loop_static", [&](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) tbb::parallel_for(all, sweep, tbb::static_partitioner{});
  });
  session.measure("loop_block", [&](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) homing::parallel_for(all, sweep, dist);
  });

  constexpr unsigned batch = 64;
  const auto spawn = [&](std::uint64_t iterations, auto&& address) {
    homing::task_group group;
    for (std::uint64_t i = 0; i < iterations; i += batch) {
      for (unsigned k = 0; k < batch; ++k) group.run(address(k), [] {});
      group.wait();
    }
  };
  session.measure("spawn_plain", [&](std::uint64_t n) { spawn(n, [](unsigned) { return homing::place(); }); });
  session.measure("spawn_addressed", [&](std::uint64_t n) {
    const unsigned domains = homing::domain_count();
    spawn(n, [domains](unsigned k) { return homing::on(k % domains); });
  });
  session.measure("current_domain", [&](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) {
      const auto here = homing::current_domain();
      bench::keep(&here);
    }
  });
  return session.end();
}
