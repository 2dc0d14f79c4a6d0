/// The file of a trace: what all threads' buffers hold, in Chrome's JSON, block by block.
///
/// Threads: one call, at exit. Others may go on with tasks: those that had begun are in it.
/// Errors:  a file that cannot be written is said in one line on stderr; nothing else happens.
#pragma once

#include <string>
#include <vector>

#include "observe/trace.hpp"

namespace homing::observe {

struct traced_domain {
  int node;  ///< OS id
};

/// The trace in Chrome's JSON (trace_event): a process a domain, a thread a thread, complete events in microseconds.
/// A task that runs still lasts until `now_ns`, with `"ended":false` among its arguments.
[[nodiscard]] std::string trace_json(const trace_buffer* newest, const std::vector<traced_domain>& domains,
                                     std::int64_t now_ns);

/// Writes the trace into `path`; if that exists already, as another process of the same run has it, into path.PID, or
/// the first of path.PID.2, path.PID.3, ... that does not.
/// Says in a line what its name is then, and in another how many tasks are not in it for want of room.
void write_trace(const char* path, const std::vector<traced_domain>& domains) noexcept;

}  // namespace homing::observe
