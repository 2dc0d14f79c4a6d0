// homing-lab-chase CPU-NODE MEMORY-NODE [MIB]: dependent loads along a random cycle through all lines of a buffer, which is
// bigger than the caches. The region "chase" is the walk alone; its time divided by the loads is the latency.
#include <homing/lab.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "guest.hpp"
#include "measure.hpp"

using namespace homing::lab::probes;

int main(int argc, char** argv) {
  if (argc < 3) fail("expected CPU-NODE MEMORY-NODE [MIB], as Linux numbers nodes");
  const auto cpus = cpus_of(static_cast<unsigned>(std::atoi(argv[1])));
  if (cpus.empty()) fail(std::string("node ") + argv[1] + " has no CPUs");
  const long mib = argc > 3 ? std::atol(argv[3]) : 64;
  const std::size_t lines = (static_cast<std::size_t>(mib) << 20) / line_bytes;
  run_on(cpus.front());
  node_memory memory(lines * line_bytes, {static_cast<unsigned>(std::atoi(argv[2]))});
  memory.touch();
  link_cycle(memory.data(), lines, line_bytes, 88172645463325252ULL);
  const std::size_t steps = lines < 65536 ? lines : 65536;
  const char* at = walk(memory.data(), lines / 8);  // pushes out what linking left behind; and where it ends is far from there
  const auto began = std::chrono::steady_clock::now();
  homing::lab::begin("chase");
  at = walk(at, steps);
  homing::lab::end("chase");
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
  std::printf("{\"loads\": %zu, \"guest_ns\": %.1f, \"end\": %d}\n", steps, ns / static_cast<double>(steps), at != nullptr);
  std::fprintf(stderr, "expected: the latency from node %s to memory of node %s\n", argv[1], argv[2]);
}
