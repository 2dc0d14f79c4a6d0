/// What probes do with their memory, in the fewest instructions: the memory is the subject, not the loop.
#pragma once

#include <cstddef>
#include <cstdint>

namespace homing::lab::probes {

/// Loads one word of every cache line, in order. Eight lines a step. Returns their sum.
inline std::uint64_t read_lines(const char* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (const char* end = data + bytes; data != end; data += 512) {
    __asm__ volatile(
        "mov (%1), %%rax\n mov 64(%1), %%rax\n mov 128(%1), %%rax\n mov 192(%1), %%rax\n"
        "mov 256(%1), %%rax\n mov 320(%1), %%rax\n mov 384(%1), %%rax\n mov 448(%1), %0\n"
        : "=r"(sum)
        : "r"(data)
        : "rax", "memory");
  }
  return sum;
}

/// Stores one word of every cache line, in order.
inline void write_lines(char* data, std::size_t bytes) {
  for (const char* end = data + bytes; data != end; data += 512) {
    __asm__ volatile(
        "mov %0, (%0)\n mov %0, 64(%0)\n mov %0, 128(%0)\n mov %0, 192(%0)\n"
        "mov %0, 256(%0)\n mov %0, 320(%0)\n mov %0, 384(%0)\n mov %0, 448(%0)\n"
        :
        : "r"(data)
        : "memory");
  }
}

/// Stores every cache line, in order, past the caches.
inline void write_lines_around(char* data, std::size_t bytes) {
  for (const char* end = data + bytes; data != end; data += 128) {
    __asm__ volatile(
        "movntdq %%xmm0, (%0)\n movntdq %%xmm0, 16(%0)\n movntdq %%xmm0, 32(%0)\n movntdq %%xmm0, 48(%0)\n"
        "movntdq %%xmm0, 64(%0)\n movntdq %%xmm0, 80(%0)\n movntdq %%xmm0, 96(%0)\n movntdq %%xmm0, 112(%0)\n"
        :
        : "r"(data)
        : "memory");
  }
}

/// Follows a cycle of pointers. Eight loads a step. Returns where it ends.
inline const char* walk(const char* at, std::size_t steps) {
  for (std::size_t i = 0; i < steps; i += 8) {
    __asm__ volatile(
        "mov (%0), %0\n mov (%0), %0\n mov (%0), %0\n mov (%0), %0\n"
        "mov (%0), %0\n mov (%0), %0\n mov (%0), %0\n mov (%0), %0\n"
        : "+r"(at)
        :
        : "memory");
  }
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
