/// The data caches of CPUs, as the kernel lists them in /sys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "platform/cpu_set.hpp"

namespace homing::platform {

/// A data or unified cache, whole, whoever may use it.
struct cache {
  int level;
  std::uint64_t bytes;
  cpu_set shared_by;
  friend bool operator==(const cache&, const cache&) = default;
};

/// The last-level caches of `cpus`, each once. Empty where the kernel does not tell: many virtual and some ARM
/// machines. `root` is put before every path, so that a test can bring a tree of its own. Threads: any. Errors: a cache
/// that can't be read or understood is left out.
[[nodiscard]] std::vector<cache> last_level_caches(const cpu_set& cpus, const std::string& root = "");

/// The size of a line of `cpu`'s first-level cache in bytes; 64 where the kernel does not tell.
[[nodiscard]] std::size_t cache_line_bytes(cpu_id cpu, const std::string& root = "");

}  // namespace homing::platform
