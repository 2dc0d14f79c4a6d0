/// The sizes that small blocks come in: by 16 bytes up to 128, then four to each doubling, so that a block wastes less
/// than a fifth of itself.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace homing::memory {

inline constexpr std::size_t block_grain_bytes = 16;  ///< every block is at least this large, and aligned to it
inline constexpr std::size_t small_bytes_max = std::size_t{32} << 10;
inline constexpr std::size_t fine_bytes_max = 128;
inline constexpr std::size_t fine_classes = fine_bytes_max / block_grain_bytes;
inline constexpr std::size_t steps = 4;  ///< classes to a doubling
inline constexpr std::size_t size_class_count = fine_classes + steps * 8;

/// The bytes of a block of a class.
[[nodiscard]] constexpr std::size_t bytes_of_class(std::size_t size_class) noexcept {
  if (size_class < fine_classes) return (size_class + 1) * block_grain_bytes;
  const std::size_t doubling = (size_class - fine_classes) / steps;
  const std::size_t step = (size_class - fine_classes) % steps + 1;
  return (fine_bytes_max << doubling) / steps * (steps + step);
}

/// The smallest class whose blocks hold `bytes`, 1 <= bytes <= small_bytes_max.
[[nodiscard]] constexpr std::size_t class_of_bytes(std::size_t bytes) noexcept {
  if (bytes <= fine_bytes_max) return (bytes + block_grain_bytes - 1) / block_grain_bytes - 1;
  const std::size_t doubling = static_cast<std::size_t>(std::bit_width((bytes - 1) / fine_bytes_max)) - 1;
  const std::size_t base = fine_bytes_max << doubling;  // base < bytes <= 2 base
  return fine_classes + doubling * steps + (bytes - base + base / steps - 1) / (base / steps) - 1;
}

/// The smallest class of blocks that hold `bytes` and, laid one after the other from an aligned start, are all aligned
/// to `alignment`; size_class_count if none is. `alignment` is a power of two.
[[nodiscard]] constexpr std::size_t class_of(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > small_bytes_max || alignment > small_bytes_max) return size_class_count;
  std::size_t found = class_of_bytes(std::max<std::size_t>({bytes, alignment, 1}));
  while (found < size_class_count && bytes_of_class(found) % alignment != 0) ++found;
  return found;
}

static_assert(bytes_of_class(size_class_count - 1) == small_bytes_max);
static_assert(class_of_bytes(small_bytes_max) == size_class_count - 1);

}  // namespace homing::memory
