// Reproducible random numbers: every part of a run derives its own stream from the seed handed to
// it, so that what is built depends on the seed alone and not on which thread came first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stress {

/// Mixes the bits of `x` well (splitmix64's finaliser).
inline std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// The seed of the `index`-th child of something seeded with `seed`.
inline std::uint64_t derive(std::uint64_t seed, std::uint64_t index) noexcept { return mix(seed ^ mix(index + 1)); }

/// A small generator (splitmix64). Not shared between threads.
class rng {
 public:
  explicit rng(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept { return mix(state_++); }

  /// 0 ... n-1; n must be positive.
  int below(int n) noexcept { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }

  /// lo ... hi, both included.
  int between(int lo, int hi) noexcept { return lo + below(hi - lo + 1); }

  bool one_in(int n) noexcept { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace stress
