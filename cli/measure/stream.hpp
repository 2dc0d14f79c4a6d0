/// STREAM on chosen CPUs and memories: how many bytes a second, and whether the results are right.
#pragma once

#include <homing/ids.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/kernels.hpp"
#include "measure/placed_buffer.hpp"
#include "measure/spread.hpp"

namespace homing::measure {

/// Threads that share three arrays on one memory node.
struct stream_group {
  std::vector<cpu_id> cpus;  ///< real CPUs, a thread each
  node_index memory;
  std::size_t array_bytes;  ///< of each of the three
};

struct stream_request {
  std::vector<stream_group> groups;  ///< they run at the same time
  std::vector<kernel> kernels;       ///< one round, in this order
  unsigned repeat;                   ///< rounds that count; one more comes first
  page_wish pages;
};

struct stream_result {
  std::vector<spread> mb_per_s;      ///< of each kernel: 10^6 bytes a second, all groups together
  memory_fact memory;                ///< of all groups
  std::size_t unbound = 0;           ///< threads that could not be bound to their CPU
  std::optional<std::string> wrong;  ///< what the check found; nothing if the results are right
};

/// Errors: std::runtime_error: no memory, no threads. Threads: one measurement at a time.
[[nodiscard]] stream_result measure_stream(const stream_request& request);

}  // namespace homing::measure
