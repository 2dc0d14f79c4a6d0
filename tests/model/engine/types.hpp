/// What the checker counts with: its limits, clocks and views, and containers whose memory no model sees.
///
/// A *view* says for each location the oldest store that a thread may still read; a *clock* says how much of each
/// thread happens before something. Views decide what loads see, clocks find data races.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace homing::model {

inline constexpr std::size_t threads_max = 6;      ///< with the one that starts the others
inline constexpr std::size_t locations_max = 192;  ///< atomics that one execution touches
inline constexpr std::size_t stores_max = 200;     ///< to one location in one execution

using location_index = std::uint8_t;
using store_index = std::uint8_t;
using thread_index = std::uint8_t;

struct clock {
  std::array<std::uint32_t, threads_max> at{};

  void join(const clock& other) noexcept {
    for (std::size_t i = 0; i < threads_max; ++i) {
      at[i] = at[i] < other.at[i] ? other.at[i] : at[i];
    }
  }
};

/// Indices of stores, not their ranks: only memory can join two of them, for a store may get in between later.
struct view {
  std::array<store_index, locations_max> at{};
};

/// A model's own allocations come from an arena that each execution begins anew: the engine's must not.
template <typename T>
struct engine_allocator {
  using value_type = T;
  engine_allocator() = default;
  template <typename U>
  engine_allocator(const engine_allocator<U>& /*other*/) noexcept {}
  T* allocate(std::size_t n) {
    void* const memory = std::malloc(n * sizeof(T));
    if (memory == nullptr) {
      std::abort();
    }
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t /*n*/) noexcept { std::free(memory); }
  friend bool operator==(const engine_allocator&, const engine_allocator&) noexcept { return true; }
};
template <typename T>
using list = std::vector<T, engine_allocator<T>>;

/// Mixes `value` into `hash`; the finaliser is that of splitmix64.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  std::uint64_t z = hash * 0x9e3779b97f4a7c15U + value + 0x632be59bd9b4e019U;
  z = (z ^ z >> 30U) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27U) * 0x94d049bb133111ebU;
  return z ^ z >> 31U;
}

}  // namespace homing::model
