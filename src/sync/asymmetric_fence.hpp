/// A StoreLoad fence whose frequent side is free: docs/protocols/sleep.md.
///
/// light_fence() on the hot side (a spawn) orders an earlier store before a later load as far as any thread that runs
/// heavy_fence() in between can tell. Where the kernel offers membarrier(2) (PRIVATE_EXPEDITED, Linux 4.14), the light
/// side is a compiler barrier and the heavy side an IPI to the process's running threads; where it is refused, both are
/// full fences.
#pragma once

#include "sync/atomic.hpp"

namespace homing::sync {

namespace detail {
/// True once the kernel has accepted the registration; written before the first second thread exists, then only read.
extern bool membarrier_available;
void membarrier_or_fence() noexcept;
}  // namespace detail

/// Registers the process for expedited barriers. Idempotent; call before the first worker is created, and in a child
/// of fork() once more. Any thread.
void prepare_asymmetric_fences() noexcept;

/// The frequent side. A compiler barrier, or a full fence where membarrier is not available.
inline void light_fence() noexcept {
  if (__builtin_expect(detail::membarrier_available, true)) {
    asm volatile("" ::: "memory");
  } else {
    full_fence();
  }
}

/// The rare side: after it, every other thread's light_fence() is a full fence as seen from here. Some microseconds.
inline void heavy_fence() noexcept { detail::membarrier_or_fence(); }

}  // namespace homing::sync
