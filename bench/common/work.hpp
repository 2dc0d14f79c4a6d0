// Work of a known amount for loop bodies: fixed numbers of dependent steps, never calibrated, so
// that both libraries are given exactly the same.
#pragma once

#include <cstdint>

namespace bench {

/// Keeps the compiler from removing the computation of `value`.
template <typename Value>
inline void keep(const Value& value) noexcept {
  asm volatile("" : : "g"(value) : "memory");
}

/// SplitMix64's finalizer: an avalanche of all 64 bits. Source: Steele, Lea and Flood 2014.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

/// A chain of `steps` dependent multiplications and additions: about 4 cycles each.
[[nodiscard]] inline std::uint64_t chain(std::uint64_t value, std::uint64_t steps) noexcept {
  for (std::uint64_t step = 0; step < steps; ++step) {
    value = value * 6364136223846793005ULL + 1442695040888963407ULL;
    asm volatile("" : "+r"(value));
  }
  return value;
}

/// Steps of chain() that take about 100 ns at 2.5 to 3 GHz.
inline constexpr std::uint64_t steps_100_ns = 64;

}  // namespace bench
