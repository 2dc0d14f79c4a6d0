/// The runtime's report at exit: what all threads counted, as one JSON object in one line.
///
/// Threads: one call, at exit. Errors: a file that cannot be written is said in one line on stderr; nothing else
/// happens.
#pragma once

#include "observe/counters.hpp"

namespace homing::observe {

struct report {
  const char* version;
  unsigned domains;
  bool made_up;  ///< the machine is not the real one
  unsigned threads;
  std::array<std::uint64_t, static_cast<std::size_t>(event::count_)> totals;
};

/// Adds a line to the file `path`, or to stderr if `path` is "stderr". In one write, so that several processes that
/// were given the same file each get their line.
void write_report(const report& r, const char* path) noexcept;

}  // namespace homing::observe
