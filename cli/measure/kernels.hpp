/// STREAM's four kernels over a part of three arrays, and one that only reads.
///
/// In a file of their own, compiled with -O3 and nothing else: vectors and non-temporal stores are the compiler's
/// ordinary choice, as where STREAM is compiled by hand.
/// Source: J. D. McCalpin, STREAM (stream.c 5.10), "Tuned" functions; bytes counted as there.
#pragma once

#include <array>
#include <cstddef>

namespace homing::measure {

/// read: the sum of a, which is all that memory carries, whereas STREAM's kernels read what they write before,
/// uncounted.
enum class kernel { copy, scale, add, triad, read };

inline constexpr std::array stream_kernels{kernel::copy, kernel::scale, kernel::add, kernel::triad};
inline constexpr std::array all_kernels{kernel::copy, kernel::scale, kernel::add, kernel::triad, kernel::read};

[[nodiscard]] constexpr const char* name_of(kernel k) noexcept {
  constexpr std::array names{"copy", "scale", "add", "triad", "read"};
  return names[static_cast<std::size_t>(k)];
}

/// Bytes that STREAM counts for each element: each array read or written once, no write-allocate.
[[nodiscard]] constexpr std::size_t bytes_per_element(kernel k) noexcept {
  if (k == kernel::read) return sizeof(double);
  return (k == kernel::copy || k == kernel::scale ? 2 : 3) * sizeof(double);
}

/// Near sqrt(2) - 1, with which a round of the four kernels would give back the values that it began with: any choice
/// of kernels stays in range for rounds_max, and still each round changes the values, so that a lost one is found.
/// (STREAM's own 3.0 multiplies by 15 a round.)
inline constexpr double stream_scalar = 0.41;
inline constexpr unsigned rounds_max = 1001;
inline constexpr double initial_a = 1.0;
inline constexpr double initial_b = 2.0;
inline constexpr double initial_c = 0.0;

/// Elements [first, last) of three arrays that don't overlap. Memory is the caller's.
struct stream_part {
  double* a;
  double* b;
  double* c;
  std::size_t first;
  std::size_t last;
};

/// copy: c = a; scale: b = s c; add: c = a + b; triad: a = b + s c; read: nothing but looking at a.
void run_kernel(kernel k, const stream_part& part) noexcept;
/// The initial values; also what touches the pages first.
void fill(const stream_part& part) noexcept;
/// Reads `bytes` (a multiple of 64) once and returns something of them: the load of `latency --loaded`.
[[nodiscard]] double read_through(const double* from, std::size_t bytes) noexcept;

}  // namespace homing::measure
