/// Which CPUs a thread may run on, and which one it runs on now.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>

#include "platform/id_set.hpp"

#if __has_include(<sys/rseq.h>) && __has_builtin(__builtin_thread_pointer)
#include <sys/rseq.h>
#define HOMING_READS_RSEQ 1
#endif

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
/// cpuset without an error, so the result carries the mask that is really in force, or, where
/// that can't be read, `wanted`.
/// Errors: errno in the result, EINVAL for an empty mask; the old mask then stays. std::bad_alloc, perhaps only when
/// the new mask is in force: where it must not stay unknown, restrict_to().
affinity_result set_affinity(pid_t thread, const cpu_set& wanted);

/// The same without a look at what is in force afterwards: nothing is allocated. Returns 0 or the errno.
[[nodiscard]] int restrict_to(pid_t thread, const cpu_set& wanted) noexcept;

/// The CPU that the calling thread runs on at this moment, -1 if the kernel can't say.
/// A load where the C library has registered the thread's rseq area; else the vDSO's answer, some nanoseconds more.
[[nodiscard]] inline cpu_id current_cpu() noexcept {
#ifdef HOMING_READS_RSEQ
  if (__rseq_size != 0) {
    const auto* area =
        reinterpret_cast<const struct rseq*>(static_cast<const char*>(__builtin_thread_pointer()) + __rseq_offset);
    // volatile: the kernel writes it whenever it moves the thread.
    const auto cpu = static_cast<std::int32_t>(static_cast<const volatile std::uint32_t&>(area->cpu_id));
    if (cpu >= 0) return static_cast<cpu_id>(cpu);
  }
#endif
  return static_cast<cpu_id>(::sched_getcpu());
}

}  // namespace homing::platform
