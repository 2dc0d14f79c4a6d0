/// A StoreLoad fence whose frequent side is free: docs/protocols/sleep.md.
///
/// light_fence() on the hot side (a spawn) orders an earlier store before a later load as far as any thread that runs
/// heavy_fence() in between can tell. Where the kernel offers membarrier(2) (PRIVATE_EXPEDITED, Linux 4.14), the light
/// side is a compiler barrier and the heavy side an IPI to the process's running threads; where it is refused, both are
/// full fences. So they are from the moment on that it is refused later, by a sandbox that is put up late. In a process
/// that had threads before, both are full fences until the kernel has registered it, which takes milliseconds. A
/// thread of ours waits for that.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace homing::sync {

/// What the two sides are: docs/protocols/sleep.md [S11], [S17].
enum class fence_kind : std::uint8_t { full, becoming_asymmetric, asymmetric, becoming_full };

namespace detail {
extern atomic<fence_kind> fences;
}

/// Whether other threads may be there already, which were not made by us.
enum class company : bool { none, perhaps };

/// Registers the process for expedited barriers, now or, where that would take milliseconds, in a thread that ends when
/// it is done. Idempotent; call before the first worker is created, and in a child of fork() once more (`none`). One
/// thread at a time.
void prepare_asymmetric_fences(company others = company::perhaps) noexcept;

/// Whether light_fence() is a compiler barrier. acquire: as in light_fence(). [S11] [S17]
[[nodiscard]] inline bool fences_are_asymmetric() noexcept {
  return detail::fences.load(acquire) == fence_kind::asymmetric;
}

/// The frequent side. A compiler barrier, or a full fence where membarrier is not available.
inline void light_fence() noexcept {
  asm volatile("" ::: "memory");  // before the look, too: a store after it is one of the new kind [S11]
  // acquire: who finds it asymmetric sees what heavy sides wrote that found it full. [S17] Whoever makes it full again
  // makes sure by a barrier of another kind that all see it. [S11]
  if (__builtin_expect(detail::fences.load(acquire) == fence_kind::asymmetric, true)) {
    asm volatile("" ::: "memory");
  } else {
    full_fence();
  }
}

/// The rare side: after it, every other thread's light_fence() is a full fence as seen from here. Some microseconds.
/// Ends the process with a message if membarrier is refused from now on and nothing else can take its place this once.
void heavy_fence() noexcept;

}  // namespace homing::sync
