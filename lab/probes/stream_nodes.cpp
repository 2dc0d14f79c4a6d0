// homing-lab-stream_nodes PATTERN [MIB]: every CPU reads memory of its own, one load a cache line, placed by PATTERN:
//   local        on its own node            interleaved  over all nodes, page by page
//   next         on the next node           one          all on the first node
//   write        on its own node, and written instead of read
//
// The region "stream PATTERN" is the time in which all CPUs read: from when the last has read its first chunk until the
// last has read all; who is through begins again. MIB should be more than a node's last-level cache. Prints what the
// kernel says about the pages, and the expectation.
#include <homing/lab.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "guest.hpp"
#include "measure.hpp"
#include "team.hpp"

using namespace homing::lab::probes;

namespace {

constexpr std::size_t chunk_bytes = 64 << 10;

struct worker {
  unsigned cpu, node;
  std::vector<unsigned> memory_nodes;
  std::unique_ptr<node_memory> memory;
};

std::vector<worker> make_workers(const std::string& pattern) {
  const auto with_memory = nodes_with_memory();
  std::vector<worker> workers;
  for (const unsigned node : nodes_with_cpus()) {
    std::size_t own = 0;
    while (own != with_memory.size() && with_memory[own] != node) ++own;
    own %= with_memory.size();  // a node without memory works on the first one's
    for (const unsigned cpu : cpus_of(node)) {
      worker w{cpu, node, {}, nullptr};
      if (pattern == "interleaved") {
        w.memory_nodes = with_memory;
      } else if (pattern == "one") {
        w.memory_nodes = {with_memory.front()};
      } else {
        w.memory_nodes = {with_memory[(own + (pattern == "next" ? 1 : 0)) % with_memory.size()]};
      }
      workers.push_back(std::move(w));
    }
  }
  return workers;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string pattern = argc > 1 ? argv[1] : "";
  const long mib = argc > 2 ? std::atol(argv[2]) : 4;
  if ((pattern != "local" && pattern != "next" && pattern != "one" && pattern != "interleaved" && pattern != "write") ||
      mib < 1) {
    fail("expected PATTERN [MIB], PATTERN one of local, next, one, interleaved, write");
  }
  const std::string label = "stream " + pattern;
  const std::size_t bytes = static_cast<std::size_t>(mib) << 20;
  std::vector<worker> workers = make_workers(pattern);
  std::vector<unsigned> cpus;
  for (const worker& w : workers) cpus.push_back(w.cpu);
  std::atomic<std::size_t> warm{0}, done{0};
  const auto stream = [&](char* data, std::size_t size) {
    if (pattern == "write") {
      write_lines(data, size);
    } else {
      read_lines(data, size);
    }
  };
  const auto began = std::chrono::steady_clock::now();
  run_team(
      cpus,
      [&](std::size_t i) {
        workers[i].memory = std::make_unique<node_memory>(bytes, workers[i].memory_nodes);
        workers[i].memory->touch();
        // The kernel's zeroing left written lines in the caches; reading all once takes the place of them.
        read_lines(workers[i].memory->data(), bytes);
      },
      [] {},
      [&](std::size_t i) {
        char* const data = workers[i].memory->data();
        // Relaxed: they only count, and nobody waits for them.
        for (std::size_t at = 0, read = 0; done.load(std::memory_order_relaxed) != workers.size();) {
          stream(data + at, chunk_bytes);
          at = (at + chunk_bytes) % bytes;
          read += chunk_bytes;
          if (read == chunk_bytes && warm.fetch_add(1, std::memory_order_relaxed) + 1 == workers.size()) {
            homing::lab::begin(label.c_str());
          }
          if (read == bytes && done.fetch_add(1, std::memory_order_relaxed) + 1 == workers.size()) {
            homing::lab::end(label.c_str());
          }
        }
      });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::uint64_t near = 0, all = 0;
  for (const worker& w : workers) {
    const auto pages = w.memory->pages_by_node();
    for (std::size_t node = 0; node != pages.size(); ++node) {
      all += pages[node];
      near += node == w.node ? pages[node] : 0;
    }
  }
  // Parsed by the tests: what numa_maps says, in cache lines.
  const double lines_a_page = static_cast<double>(page_bytes) / line_bytes;
  std::printf("{\"region\": \"%s\", \"cpus\": %zu, \"bytes\": %zu, \"lines\": %.0f, \"near_lines\": %.0f, "
              "\"seconds\": %.3f}\n",
              label.c_str(), cpus.size(), cpus.size() * bytes, static_cast<double>(all) * lines_a_page,
              static_cast<double>(near) * lines_a_page, seconds);
  std::fprintf(stderr, "expected: %.1f%% of the lines from the CPU's own node, all from DRAM\n",
               100.0 * static_cast<double>(near) / static_cast<double>(all));
}
