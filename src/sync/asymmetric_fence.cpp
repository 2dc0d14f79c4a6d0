/// The heavy side, and how both sides become full fences when membarrier is refused after start: sleep.md [S11].
#include "sync/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "platform/env.hpp"

namespace homing::sync {

namespace detail {
constinit atomic<fence_kind> fences{fence_kind::full};
}

namespace {

/// Never taken back: what is refused once stays refused.
constinit atomic<bool> refused_late{false};

bool membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

/// Runs the calling thread on each CPU in turn. What runs there meanwhile has left its CPU for the kernel, which passes
/// a full fence; so has whoever comes there later. False: refused, with errno.
bool visit_all_cpus() noexcept {
  constexpr std::size_t cpus_max = 16384;  // twice the largest kernel's
  constexpr std::size_t bits = sizeof(unsigned long) * CHAR_BIT;
  unsigned long before[cpus_max / bits] = {};
  const long bytes = ::syscall(SYS_sched_getaffinity, 0, sizeof before, before);
  if (bytes < 0) {
    return false;
  }
  bool all = true;
  unsigned long one[cpus_max / bits] = {};
  for (std::size_t cpu = 0; cpu < static_cast<std::size_t>(bytes) * CHAR_BIT && all; ++cpu) {
    one[cpu / bits] = 1UL << cpu % bits;
    // EINVAL: no such CPU, or none that threads of this process may run on.
    all = ::syscall(SYS_sched_setaffinity, 0, bytes, one) == 0 || errno == EINVAL;
    one[cpu / bits] = 0;
  }
  const int error = errno;
  // A mask that has become impossible meanwhile is not ours to mend.
  static_cast<void>(::syscall(SYS_sched_setaffinity, 0, bytes, before));
  errno = error;
  return all;
}

/// [S11]
void become_full(int why) noexcept {
  refused_late.store(true, relaxed);
  fence_kind kind = fence_kind::asymmetric;
  static_cast<void>(detail::fences.compare_exchange_strong(kind, fence_kind::becoming_full, seq_cst, seq_cst));
  full_fence();
  if (!membarrier(MEMBARRIER_CMD_GLOBAL) && !visit_all_cpus()) {
    const int also = errno;
    platform::warn(
        "membarrier, granted at start, is refused now (%s), and so is sched_setaffinity, which could take its "
        "place (%s): no thread could be sure of the others' writes. Allow one of them in the sandbox, or "
        "refuse membarrier before the program's first task",
        std::strerror(why), std::strerror(also));
    std::abort();
  }
  // release: what all threads have written before the barrier; partner: the acquire in heavy_fence().
  detail::fences.store(fence_kind::full, release);
}

}  // namespace

void heavy_fence() noexcept {
  // acquire: full after a change, so the barrier of the thread that changed it has been passed. [S11]
  if (detail::fences.load(acquire) != fence_kind::full) {
    const int kept = errno;
    if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
      become_full(errno);
    }
    errno = kept;
  }
  full_fence();
}

void prepare_asymmetric_fences() noexcept {
  // A refusal (old kernel, seccomp) needs no report: both sides then use a full fence, which is slower, never wrong.
  // Some refuse the use only. The registration outlasts a fork, the manual says nothing of it.
  const bool granted = !refused_late.load(relaxed) && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                       membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  // relaxed: no thread has passed a fence yet, or none but this one exists.
  detail::fences.store(granted ? fence_kind::asymmetric : fence_kind::full, relaxed);
}

}  // namespace homing::sync
