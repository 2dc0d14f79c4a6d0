// homing-lab-shared_line NODE NODE [TURNS]: two CPUs write one cache line in turn, each when it sees the other's
// write. With CPUs of different nodes the line comes from the other node's cache each time. Prints which CPUs: others
// do what a system does besides (the relay of earlier output, say), and count, too. So they are the last of their
// nodes, far from CPU 0, which serves the devices.
#include <homing/lab.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "guest.hpp"
#include "instructions.hpp"
#include "team.hpp"

using namespace homing::lab::probes;

int main(int argc, char** argv) {
  if (argc < 3) fail("expected NODE NODE [TURNS], as Linux numbers nodes");
  const unsigned nodes[2] = {static_cast<unsigned>(std::atoi(argv[1])), static_cast<unsigned>(std::atoi(argv[2]))};
  const unsigned turns = argc > 3 ? static_cast<unsigned>(std::atol(argv[3])) : 2000;
  const std::string label = std::string("turns ") + argv[1] + " " + argv[2];
  std::vector<unsigned> cpus;
  for (const unsigned node : nodes) {
    const auto of = cpus_of(node);
    const std::size_t from_end = !cpus.empty() && nodes[0] == node ? 2 : 1;
    if (of.size() < from_end) fail("node " + std::to_string(node) + " has too few CPUs");
    cpus.push_back(of[of.size() - from_end]);
  }
  node_memory memory(page_bytes, {nodes[0]});
  memory.touch();
  auto& line = *reinterpret_cast<std::atomic<unsigned>*>(memory.data());
  line = 0;
  run_team(
      cpus, [](std::size_t) {}, [&] { homing::lab::begin(label.c_str()); },
      [&](std::size_t i) {
        for (unsigned turn = static_cast<unsigned>(i); turn < turns; turn += 2) {
          // Acquire and release: a turn sees the one before.
          // Between two looks the other has time to be through: the lab learns of a write a moment after it.
          while (line.load(std::memory_order_acquire) != turn) {
            for (int pause = 0; pause != 256; ++pause) instructions::pause();
          }
          line.store(turn + 1, std::memory_order_release);
        }
      },
      [&] { homing::lab::end(label.c_str()); });
  std::printf("{\"region\": \"%s\", \"turns\": %u, \"cpus\": [%u, %u]}\n", label.c_str(), turns, cpus[0], cpus[1]);
  std::fprintf(stderr, "expected: one line a turn from the other node's cache, none from DRAM\n");
}
