// homing-lab-chase CPU-NODE MEMORY-NODE [MIB]: dependent loads along a random cycle through all lines of a buffer,
// which is at least twice as big as the caches. The region "chase CPU-NODE MEMORY-NODE" is the walk alone; its time
// divided by the loads is the latency.
#include <homing/lab.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

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
  const std::string label = std::string("chase ") + argv[1] + " " + argv[2];
  const std::size_t steps = std::min<std::size_t>(lines / 4, 65536);
  const char* at = walk(memory.data(), lines / 2);  // pushes out what linking left in the caches; no line is met twice
  const auto began = std::chrono::steady_clock::now();
  homing::lab::begin(label.c_str());
  at = walk(at, steps);
  homing::lab::end(label.c_str());
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
  std::printf("{\"region\": \"%s\", \"loads\": %zu, \"ns_a_load\": %.1f, \"found\": %d}\n", label.c_str(), steps,
              ns / static_cast<double>(steps), at != nullptr);
  std::fprintf(stderr, "expected: the latency from node %s to memory of node %s\n", argv[1], argv[2]);
}
