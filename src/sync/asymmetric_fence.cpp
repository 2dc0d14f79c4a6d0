/// The heavy side; how both sides become full fences when membarrier is refused after start, and how they cease to be
/// when it is granted late: sleep.md [S11], [S17].
#include "sync/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
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

bool is_offered() noexcept {
  const long commands = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

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
  // Whatever it was: who is making it asymmetric [S17] finds another kind than its own then, and leaves it.
  detail::fences.store(fence_kind::becoming_full, seq_cst);
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

/// [S17] The process is registered. Other threads may pass both sides meanwhile.
void become_asymmetric() noexcept {
  fence_kind kind = fence_kind::full;
  if (refused_late.load(relaxed) ||
      !detail::fences.compare_exchange_strong(kind, fence_kind::becoming_asymmetric, seq_cst, seq_cst)) {
    return;
  }
  full_fence();
  kind = fence_kind::becoming_asymmetric;
  const fence_kind next = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ? fence_kind::asymmetric : fence_kind::full;
  // seq_cst, which is a release: what heavy sides wrote that passed a full fence only; partner: the light sides'
  // acquire.
  static_cast<void>(detail::fences.compare_exchange_strong(kind, next, seq_cst, seq_cst));
}

void* register_in_thread(void* /*unused*/) noexcept {
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) {
    become_asymmetric();
  }
  return nullptr;
}

/// The kernel lets a process with several threads wait for a grace period of its own: 10 to 24 ms. False if there can't
/// be a thread.
bool register_beside() noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) {
    return false;
  }
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // the program's signals are for its own threads
  pthread_t thread;
  const bool made = pthread_create(&thread, &attributes, register_in_thread, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return made;
}

/// When the library is loaded: most programs have one thread then, and nobody waits for a grace period. A refusal shows
/// when the fences are prepared.
[[maybe_unused]] const bool registered_at_load =
    __libc_single_threaded != 0 && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

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

void prepare_asymmetric_fences(company others) noexcept {
  const int kept = errno;
  if (others == company::none) {
    detail::fences.store(fence_kind::full, relaxed);  // a fork may have met a change half-way
  }
  // A refusal (old kernel, seccomp) needs no report: both sides then use a full fence, which is slower, never wrong.
  // Some refuse the use only. The registration outlasts a fork, the manual says nothing of it.
  const bool is_slow = others == company::perhaps && __libc_single_threaded == 0;
  if (!refused_late.load(relaxed) && is_offered() &&
      (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
       (!(is_slow && register_beside()) && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)))) {
    become_asymmetric();
  }
  errno = kept;
}

}  // namespace homing::sync
