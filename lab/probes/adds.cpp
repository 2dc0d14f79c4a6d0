// homing-lab-adds NODE NODE [ADDS]: two CPUs add to counters. Regions:
//   "spaced"  to one counter, with so much work between two adds that the other has taken the line meanwhile: as many
//             transfers as adds
//   "one"     to one counter, without pause
//   "false"   each to its own counter, both in one line
//   "padded"  each to its own counter in a line of its own
// The CPUs are the last of their nodes, as for homing-lab-shared_line.
#include <homing/lab.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "guest.hpp"
#include "instructions.hpp"
#include "team.hpp"

using namespace homing::lab::probes;

namespace {

using counter = std::atomic<unsigned long>;

/// About 2,000 cycles that nothing can shorten: each step needs the one before.
void work() {
  unsigned long x = 1;
  for (int i = 0; i != 50; ++i) instructions::add_40(x);
}

void run(const char* region, const std::vector<unsigned>& cpus, counter* first, counter* second, unsigned long adds,
         bool spaced) {
  run_team(
      cpus, [](std::size_t) {}, [&] { homing::lab::begin(region); },
      [&](std::size_t i) {
        counter& mine = i == 0 ? *first : *second;
        for (unsigned long n = 0; n != adds; ++n) {
          mine.fetch_add(1, std::memory_order_relaxed);  // only counted
          if (spaced) work();
        }
      },
      [&] { homing::lab::end(region); });
  std::printf("{\"region\": \"%s\", \"adds\": %lu, \"cpus\": [%u, %u]}\n", region, 2 * adds, cpus[0], cpus[1]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("expected NODE NODE [ADDS], as Linux numbers nodes");
  const unsigned long adds = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 2000;
  std::vector<unsigned> cpus;
  for (int i = 1; i != 3; ++i) {
    const auto of = cpus_of(static_cast<unsigned>(std::atoi(argv[i])));
    const std::size_t from_end = i == 1 && std::string(argv[1]) == argv[2] ? 2 : 1;
    if (of.size() < from_end) fail(std::string("node ") + argv[i] + " has too few CPUs");
    cpus.push_back(of[of.size() - from_end]);
  }
  node_memory memory(page_bytes, {static_cast<unsigned>(std::atoi(argv[1]))});
  memory.touch();
  const auto at = [&](std::size_t byte) { return reinterpret_cast<counter*>(memory.data() + byte); };
  run("spaced", cpus, at(0), at(0), adds, true);
  run("one", cpus, at(512), at(512), adds, false);
  run("false", cpus, at(1024), at(1032), adds, false);
  run("padded", cpus, at(2048), at(3072), adds, false);
}
