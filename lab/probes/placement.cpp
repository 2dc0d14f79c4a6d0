// homing-lab-placement [MIB]: memory that no policy places, three times streamed through by threads that are bound to a
// CPU each. Regions:
//   "first touch"  each thread touched its own first: its node's
//   "touched by one"  one thread touched all of it: that thread's node's
//   "moved"        the same after move_pages to the node after the thread's
// Prints for each what numa_maps says of the pages, what move_pages itself says, and the CPUs that the threads were on.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "streams.hpp"

using namespace homing::lab::probes;

namespace {

struct worker {
  unsigned node, next_node;
  std::unique_ptr<node_memory> memory;
  int seen_on = -1;  // by sched_getcpu
};

/// move_pages(2), raw. Returns how many of the pages are on `node` afterwards, by its own status.
std::size_t move_to(const node_memory& memory, unsigned node) {
  const std::size_t count = memory.size() / page_bytes;
  std::vector<void*> pages(count);
  std::vector<int> nodes(count, static_cast<int>(node)), status(count, -1);
  for (std::size_t i = 0; i != count; ++i) pages[i] = memory.data() + i * page_bytes;
  constexpr int only_mine = 2;  // MPOL_MF_MOVE
  if (syscall(SYS_move_pages, 0, count, pages.data(), nodes.data(), status.data(), only_mine) < 0) {
    fail("move_pages is refused here");
  }
  std::size_t there = 0;
  for (const int s : status) there += s == static_cast<int>(node) ? 1 : 0;
  return there;
}

void report(const std::string& label, const std::vector<worker>& workers, const std::vector<stream>& streams,
            std::size_t moved) {
  std::vector<page_count> pages(workers.size());
  page_count all;
  std::size_t bound = 0;
  for (std::size_t i = 0; i != workers.size(); ++i) {
    pages[i].add(*workers[i].memory, workers[i].node);
    all.near += pages[i].near;
    all.all += pages[i].all;
    bound += workers[i].seen_on == static_cast<int>(streams[i].cpu) ? 1 : 0;
  }
  constexpr std::uint64_t lines_a_page = page_bytes / line_bytes;
  std::printf(
      "{\"region\": \"%s\", \"lines\": %lu, \"near_lines\": %lu, \"moved_pages\": %zu, \"bound\": %zu, \"cpus\": [",
      label.c_str(), all.all * lines_a_page, all.near * lines_a_page, moved, bound);
  for (std::size_t i = 0; i != streams.size(); ++i) {
    std::printf("%s{\"cpu\": %u, \"near\": %.6f}", i == 0 ? "" : ", ", streams[i].cpu,
                static_cast<double>(pages[i].near) / static_cast<double>(pages[i].all));
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const long mib = argc > 1 ? std::atol(argv[1]) : 4;
  const auto nodes = nodes_with_memory();
  if (mib < 1) fail("expected [MIB], at least 1");
  std::vector<worker> workers;
  std::vector<stream> streams;
  for (std::size_t n = 0; n != nodes.size(); ++n) {
    const auto cpus = cpus_of(nodes[n]);
    if (cpus.empty()) continue;
    // Half of the CPUs: the others must count nothing.
    for (std::size_t c = 0; c < cpus.size(); c += 2) {
      workers.push_back({nodes[n], nodes[(n + 1) % nodes.size()], nullptr});
      streams.push_back({cpus[c], nullptr, 0});
    }
  }
  const auto take = [&](std::size_t i) {
    workers[i].memory = std::make_unique<node_memory>(static_cast<std::size_t>(mib) << 20, std::vector<unsigned>{});
    streams[i].data = workers[i].memory->data();
    streams[i].bytes = workers[i].memory->size();
  };
  const auto look = [&](std::size_t i) { workers[i].seen_on = sched_getcpu(); };
  run_streams(streams, "first touch", direction::read, [&](std::size_t i) {
    take(i);
    workers[i].memory->touch();
    look(i);
  });
  report("first touch", workers, streams, 0);

  run_on(streams.front().cpu);
  for (std::size_t i = 0; i != workers.size(); ++i) {
    take(i);
    workers[i].memory->touch();
  }
  run_streams(streams, "touched by one", direction::read, look);
  report("touched by one", workers, streams, 0);

  std::size_t moved = 0;
  for (const worker& w : workers) moved += move_to(*w.memory, w.next_node);
  run_streams(streams, "moved", direction::read, look);
  report("moved", workers, streams, moved);
  std::fprintf(stderr, "expected: all near; near for the node of CPU %u only; none near\n", streams.front().cpu);
}
