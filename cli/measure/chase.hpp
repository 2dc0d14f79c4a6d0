/// Dependent loads: every line of a buffer holds the address of the next, in one random cycle through all of them.
///
/// The processor can't begin a load before the last one is done, and no prefetcher can guess it: the next line lies
/// anywhere in the buffer. A walk that goes on where the last one ended meets each line once before it meets any again,
/// so that a buffer of several times the caches finds next to nothing in them. What stays are misses of the TLB: huge
/// pages make them rare.
/// Source: S. Sattolo, "An algorithm to generate a random cyclic permutation", Inf. Process. Lett. 22 (1986).
#pragma once

#include <cstddef>
#include <cstdint>

namespace homing::measure {

/// Ownership: none; the memory must outlive it. Threads: any may walk.
class chase_cycle {
 public:
  /// Links the lines of `memory`, `line_bytes` apart (a multiple of a pointer's size): at least two.
  chase_cycle(std::byte* memory, std::size_t bytes, std::size_t line_bytes, std::uint64_t seed);

  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }
  [[nodiscard]] const void* start() const noexcept { return memory_; }
  /// Follows `steps` links and returns where they lead.
  [[nodiscard]] static const void* walk(const void* from, std::size_t steps) noexcept;
  /// Steps from start() until it comes back there: lines(), or something is broken; 0 if it does not within lines().
  [[nodiscard]] std::size_t length() const noexcept;

 private:
  std::byte* memory_;
  std::size_t lines_;
};

}  // namespace homing::measure
