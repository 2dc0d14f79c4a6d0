/// The one door to atomics: short names for orders, and the hint for a spinning CPU.
///
/// Every operation in src/ spells its order with these names; code outside this folder includes this header and
/// never <atomic>.
#pragma once

#include <atomic>
#include <cstddef>

namespace homing::sync {

template <typename T>
using atomic = std::atomic<T>;

/// A variable that threads share without atomics: its protocol keeps it from races, and the models check that.
template <typename T>
using plain = T;

/// A size that models make small (`modelled`), so that its edges are reached.
constexpr std::size_t size_or_modelled(std::size_t usual, std::size_t /*modelled*/) noexcept { return usual; }

inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

/// Distance in bytes that keeps two fields out of each other's cache lines, adjacent-line prefetch included.
inline constexpr std::size_t cache_line_bytes = 128;

/// Tells the CPU that this thread spins. A few nanoseconds to some tens of them.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// Asks for the cache line at `where`, to read or to write it soon, without waiting for it. A hint: `where` may be any
/// address, also one where nothing is any more.
inline void expect_read(const void* where) noexcept { __builtin_prefetch(where, 0); }
inline void expect_write(const void* where) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" : : "r"(where));  // the builtin asks to read only, but for newer CPUs
#else
  __builtin_prefetch(where, 1);
#endif
}

/// A full fence (StoreLoad included) that race detectors accept.
inline void full_fence() noexcept {
#if defined(__x86_64__)
  asm volatile("lock; orq $0, (%%rsp)" ::: "memory", "cc");
#else
  __sync_synchronize();
#endif
}

/// As full_fence(), where a read-modify-write stands between it and the stores that it orders. C++ does not take such
/// an operation on one variable for a fence of others; x86's locked instruction is one, so there only the compiler is
/// held back.
inline void full_fence_after_exchange() noexcept {
#if defined(__x86_64__)
  asm volatile("" ::: "memory");
#else
  full_fence();
#endif
}

}  // namespace homing::sync
