/// Which CPUs a thread may run on, and which one it runs on now.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include "platform/id_set.hpp"

namespace homing::platform {

/// What the kernel answered about an affinity mask.
struct [[nodiscard]] affinity_result {
  cpu_set mask;          ///< the mask in force afterwards; empty if it could not be read
  int error_number = 0;  ///< errno of the refused call, 0 if it was granted
  [[nodiscard]] bool ok() const noexcept { return error_number == 0; }
};

/// The mask of `thread` (a Linux thread id; 0: the calling thread; getpid(): the process's first).
/// Threads: any. Errors: errno in the result. Any number of CPUs.
affinity_result get_affinity(pid_t thread = 0);

/// Asks that `thread` run on `wanted` only. The kernel may grant less: it drops CPUs outside the
/// cpuset without an error, so the result carries the mask that is really in force.
/// Errors: errno in the result, EINVAL for an empty mask; the old mask then stays.
affinity_result set_affinity(pid_t thread, const cpu_set& wanted);

/// The CPU that the calling thread runs on at this moment, -1 if the kernel can't say.
/// A few nanoseconds: the C library reads it from rseq, or else from the vDSO.
[[nodiscard]] inline cpu_id current_cpu() noexcept { return static_cast<cpu_id>(::sched_getcpu()); }

}  // namespace homing::platform
