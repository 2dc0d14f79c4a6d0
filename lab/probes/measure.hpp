/// What probes do with their memory, in the fewest instructions: the memory is the subject, not the loop.
#pragma once

#include <cstddef>
#include <cstdint>

#include "instructions.hpp"

namespace homing::lab::probes {

/// Loads one word of every cache line, in order. Eight lines a step. Returns the last.
inline std::uint64_t read_lines(const char* data, std::size_t bytes) {
  std::uint64_t last = 0;
  for (const char* end = data + bytes; data != end; data += 512) last = instructions::load_8_lines(data);
  return last;
}

/// Stores one word of every cache line, in order.
inline void write_lines(char* data, std::size_t bytes) {
  for (const char* end = data + bytes; data != end; data += 512) instructions::store_8_lines(data);
}

/// Stores every cache line, in order, past the caches.
inline void write_lines_around(char* data, std::size_t bytes) {
  for (const char* end = data + bytes; data != end; data += 128) instructions::store_2_lines_around(data);
}

/// Follows a cycle of pointers. Eight loads a step. Returns where it ends.
inline const char* walk(const char* at, std::size_t steps) {
  for (std::size_t i = 0; i < steps; i += 8) at = instructions::follow_8(at);
  return at;
}

/// Links all lines of a buffer into one cycle in a random order (Sattolo's), the same for the same seed.
inline void link_cycle(char* data, std::size_t lines, std::size_t line_size, std::uint64_t seed) {
  const auto at = [&](std::size_t i) -> char*& { return *reinterpret_cast<char**>(data + i * line_size); };
  for (std::size_t i = 0; i != lines; ++i) at(i) = data + i * line_size;
  for (std::size_t i = lines - 1; i > 0; --i) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    const std::size_t j = seed % i;
    char* const other = at(j);
    at(j) = at(i);
    at(i) = other;
  }
}

}  // namespace homing::lab::probes
