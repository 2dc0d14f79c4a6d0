/// The runtime's report at exit: what all threads counted, as one JSON object in one line.
///
/// Threads: one call, at exit. Errors: a file that cannot be written is said in one line on stderr; nothing else
/// happens.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "observe/counters.hpp"

namespace homing::observe {

struct report {
  const char* version;
  int process = 0;
  unsigned domains = 0;
  bool made_up = false;  ///< the machine is not the real one
  unsigned threads = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(event::count_)> totals{};
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> homes{};  ///< tasks by (home, domain they ran in)
  std::vector<unsigned> threads_in{};                              ///< by domain
  bool pages_known = false;
  std::map<int, std::uint64_t> bytes_on{};  ///< the process's memory by node (OS id), at this moment
};

/// Adds a line to the file `path`, or to stderr if `path` is "stderr". In one write, so that several processes that
/// were given the same file each get their line.
void write_report(const report& r, const char* path) noexcept;

}  // namespace homing::observe
