/// How much CPU time and memory the control groups above this process let it have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace homing::platform {

struct cpu_quota {
  double cpus;       ///< quota divided by period, > 0; may be a fraction
  std::string file;  ///< the file that sets it
};

/// The smallest quota over all levels from this process's group up to the root, in version 2
/// (cpu.max) and version 1 (cpu.cfs_quota_us) hierarchies; nothing if there is none.
/// `root` is put before every path, so that a test can bring a tree of its own.
/// Errors: a level that can't be read or understood sets no limit. Threads: any.
[[nodiscard]] std::optional<cpu_quota> read_cpu_quota(const std::string& root = "");

/// Bytes that this process can still get before a control group's limit stops it: the smallest over all levels, in both
/// versions (memory.max, memory.limit_in_bytes); files' pages that were not used lately count as free. Nothing if there
/// is no limit. Errors and threads: as above.
[[nodiscard]] std::optional<std::uint64_t> read_memory_left(const std::string& root = "");

}  // namespace homing::platform
