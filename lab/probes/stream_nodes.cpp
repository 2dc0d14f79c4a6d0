// homing-lab-stream_nodes PATTERN [MIB]: every CPU reads memory of its own, one load a cache line, placed by PATTERN:
//   local        on its own node            interleaved  over all nodes, page by page
//   next         on the next node           one          all on the first node
//   write        on its own node, and written instead of read
//   around       on its own node, and written past the caches
//   last         all on the last node: where a machine has one without CPUs, that one
//
// The region "stream PATTERN" is the time in which all CPUs do so. MIB should be more than a node's last-level cache.
// Prints what the kernel says about the pages, and the expectation.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>

#include "streams.hpp"

using namespace homing::lab::probes;

namespace {

struct worker {
  unsigned node;
  std::vector<unsigned> memory_nodes;
  std::unique_ptr<node_memory> memory;
};

void make_workers(const std::string& pattern, std::vector<worker>& workers, std::vector<stream>& streams) {
  const auto with_memory = nodes_with_memory();
  for (const unsigned node : nodes_with_cpus()) {
    std::size_t own = 0;
    while (own != with_memory.size() && with_memory[own] != node) ++own;
    own %= with_memory.size();  // a node without memory works on the first one's
    std::vector<unsigned> memory_nodes{with_memory[own]};
    if (pattern == "interleaved") memory_nodes = with_memory;
    if (pattern == "one") memory_nodes = {with_memory.front()};
    if (pattern == "last") memory_nodes = {with_memory.back()};
    if (pattern == "next") memory_nodes = {with_memory[(own + 1) % with_memory.size()]};
    for (const unsigned cpu : cpus_of(node)) {
      workers.push_back({node, memory_nodes, nullptr});
      streams.push_back({cpu, nullptr, 0});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string pattern = argc > 1 ? argv[1] : "";
  const long mib = argc > 2 ? std::atol(argv[2]) : 4;
  const char* const patterns[] = {"local", "next", "one", "last", "interleaved", "write", "around"};
  if (std::find(std::begin(patterns), std::end(patterns), pattern) == std::end(patterns) || mib < 1) {
    fail("expected PATTERN [MIB], PATTERN one of local, next, one, last, interleaved, write, around");
  }
  const std::string label = "stream " + pattern;
  std::vector<worker> workers;
  std::vector<stream> streams;
  make_workers(pattern, workers, streams);
  const direction which = pattern == "write"    ? direction::write
                          : pattern == "around" ? direction::write_around
                                                : direction::read;
  run_streams(streams, label, which, [&](std::size_t i) {
    workers[i].memory = std::make_unique<node_memory>(static_cast<std::size_t>(mib) << 20, workers[i].memory_nodes);
    workers[i].memory->touch();
    streams[i].data = workers[i].memory->data();
    streams[i].bytes = workers[i].memory->size();
  });
  page_count pages;
  for (const worker& w : workers) pages.add(*w.memory, w.node);
  constexpr std::uint64_t lines_a_page = page_bytes / line_bytes;
  // Parsed by the tests: what numa_maps says, in cache lines.
  std::printf("{\"region\": \"%s\", \"cpus\": %zu, \"lines\": %lu, \"near_lines\": %lu}\n", label.c_str(),
              streams.size(), pages.all * lines_a_page, pages.near * lines_a_page);
  std::fprintf(stderr, "expected: %.1f%% of the lines from the CPU's own node, all from DRAM\n",
               100.0 * static_cast<double>(pages.near) / static_cast<double>(pages.all));
}
