/// Many CPUs that read or write memory of their own for the same while: a region in which nobody is early or late.
#pragma once

#include <homing/lab.hpp>

#include <atomic>
#include <string>
#include <vector>

#include "guest.hpp"
#include "measure.hpp"
#include "team.hpp"

namespace homing::lab::probes {

/// A CPU and what it streams through, a multiple of `chunk_bytes`.
struct stream {
  unsigned cpu;
  char* data;
  std::size_t bytes;
};

enum class direction { read, write, write_around };

/// So large that the loop's own lines, which the stream pushes out of the private cache between two chunks, do not
/// show.
inline constexpr std::size_t chunk_bytes = 256 << 10;

/// The region `label` is the time in which all stream: from when the last has been through its first chunk until the
/// last has been through all; who is through begins again. `prepare(i)` is called on the CPU of stream `i` before, and
/// sets it.
inline void run_streams(std::vector<stream>& streams, const std::string& label, direction which,
                        const std::function<void(std::size_t)>& prepare) {
  std::vector<unsigned> cpus;
  for (const stream& s : streams) cpus.push_back(s.cpu);
  std::atomic<std::size_t> warm{0}, done{0};
  run_team(
      cpus,
      [&](std::size_t i) {
        prepare(i);
        // The kernel's zeroing left written lines in the caches; reading all once takes the place of them.
        read_lines(streams[i].data, streams[i].bytes);
      },
      [] {},
      [&](std::size_t i) {
        // In registers: what the loop loads between two chunks comes from a cache, which is not what is asked.
        const stream mine = streams[i];
        const std::size_t all = cpus.size();
        std::size_t at = 0, past = 0;
        // Relaxed: they only count, and nobody waits for them.
        while (done.load(std::memory_order_relaxed) != all) {
          if (which == direction::write_around) {
            write_lines_around(mine.data + at, chunk_bytes);
          } else if (which == direction::write) {
            write_lines(mine.data + at, chunk_bytes);
          } else {
            read_lines(mine.data + at, chunk_bytes);
          }
          at = at + chunk_bytes == mine.bytes ? 0 : at + chunk_bytes;
          past += chunk_bytes;
          if (past == chunk_bytes && warm.fetch_add(1, std::memory_order_relaxed) + 1 == all) begin(label.c_str());
          if (past == mine.bytes && done.fetch_add(1, std::memory_order_relaxed) + 1 == all) end(label.c_str());
        }
      },
      [] {});
}

/// Adds the pages of `memory`, as the kernel says, that a CPU of `node` uses: all of them, and the near ones.
struct page_count {
  std::uint64_t near = 0, all = 0;
  void add(const node_memory& memory, unsigned node) {
    const auto pages = memory.pages_by_node();
    for (std::size_t n = 0; n != pages.size(); ++n) {
      all += pages[n];
      near += n == node ? pages[n] : 0;
    }
  }
};

}  // namespace homing::lab::probes
