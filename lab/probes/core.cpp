// homing-lab-core CPU-NODE MEMORY-NODE [MIB]: what one core does alone, each with a time that the machine file implies.
// Regions:
//   "random"     independent loads, each of a line of its own: bound by the misses that a core keeps in flight
//   "gather"     the same by an index array that is streamed through
//   "chain"      multiplications and additions of doubles, each of the one before: bound by their latencies
//   "chains"     eight such chains side by side: bound by how many instructions enter a cycle
// Prints for each how many items it did.
#include <homing/lab.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "guest.hpp"
#include "measure.hpp"

using namespace homing::lab::probes;

namespace {

/// Goes through 0 .. lines-1, a power of two, once each, in an order that no prefetcher follows.
struct scatter {
  std::uint64_t mask, at = 12345;
  std::uint64_t next() { return at = (at * 0x5851f42d4c957f2dULL + 0x14057b7ef767814fULL) & mask; }
};

void report(const char* region, std::size_t items) {
  std::printf("{\"region\": \"%s\", \"items\": %zu}\n", region, items);
}

template <class Work>
void measure(const char* region, std::size_t items, Work work) {
  homing::lab::begin(region);
  work();
  homing::lab::end(region);
  report(region, items);
}

void random_loads(const node_memory& memory, std::size_t lines) {
  scatter order{lines - 1};
  const std::size_t items = lines / 2;
  measure("random", items, [&] {
    for (std::size_t i = 0; i != items; ++i) instructions::load(memory.data() + order.next() * line_bytes);
  });
}

void gather(const node_memory& memory, std::size_t lines, unsigned node) {
  const std::size_t items = lines / 2;
  node_memory index(items * sizeof(std::uint32_t), {node});
  auto* const of = reinterpret_cast<std::uint32_t*>(index.data());
  scatter order{lines - 1};
  for (std::size_t i = 0; i != items; ++i) of[i] = static_cast<std::uint32_t>(order.next());
  read_lines(memory.data(), memory.size());  // pushes the index out of the caches; ends with lines that come late
  measure("gather", items, [&] {
    for (std::size_t i = 0; i != items; ++i) instructions::load(memory.data() + std::size_t{of[i]} * line_bytes);
  });
}

void chains() {
  constexpr std::size_t rounds = 20000;
  double x = 1;
  const double by = 1.0000001;
  measure("chain", rounds * 16, [&] {  // items: pairs of a multiplication and an addition
    for (std::size_t i = 0; i != rounds; ++i) instructions::chain_16(x, by);
  });
  measure("chains", rounds * 16, [&] {
    for (std::size_t i = 0; i != rounds; ++i) instructions::chains_16(by);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("expected CPU-NODE MEMORY-NODE [MIB], as Linux numbers nodes");
  const auto cpus = cpus_of(static_cast<unsigned>(std::atoi(argv[1])));
  if (cpus.empty()) fail(std::string("node ") + argv[1] + " has no CPUs");
  const auto node = static_cast<unsigned>(std::atoi(argv[2]));
  const long mib = argc > 3 ? std::atol(argv[3]) : 16;
  const std::size_t lines = (static_cast<std::size_t>(mib) << 20) / line_bytes;
  if (mib < 1 || (lines & (lines - 1)) != 0) fail("expected MIB to be a power of two");
  run_on(cpus.back());
  node_memory memory(lines * line_bytes, {node});
  memory.touch();
  read_lines(memory.data(), memory.size());  // pushes out what the kernel's zeroing left written in the caches
  random_loads(memory, lines);
  gather(memory, lines, node);
  chains();
}
