#include "measure/kernels.hpp"

namespace homing::measure {
namespace {

// The arrays don't overlap, which the compiler of STREAM sees by itself: there they are static.
using array = double* __restrict;

void copy(const double* __restrict a, array c, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) c[i] = a[i];
}
void scale(array b, const double* __restrict c, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) b[i] = stream_scalar * c[i];
}
void add(const double* __restrict a, const double* __restrict b, array c, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}
void triad(array a, const double* __restrict b, const double* __restrict c, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + stream_scalar * c[i];
}
void read(const double* __restrict a, std::size_t n) noexcept {
  double sum = read_through(a, n / 8 * 8 * sizeof(double));
  for (std::size_t i = n / 8 * 8; i < n; ++i) sum += a[i];
  // The sum is needed, so the loads were; a volatile write that nobody reads.
  const volatile double used = sum;
  static_cast<void>(used);
}

}  // namespace

void run_kernel(kernel k, const stream_part& p) noexcept {
  const std::size_t n = p.last - p.first;
  double* const a = p.a + p.first;
  double* const b = p.b + p.first;
  double* const c = p.c + p.first;
  switch (k) {
    case kernel::copy:
      return copy(a, c, n);
    case kernel::scale:
      return scale(b, c, n);
    case kernel::add:
      return add(a, b, c, n);
    case kernel::triad:
      return triad(a, b, c, n);
    case kernel::read:
      return read(a, n);
  }
}

void fill(const stream_part& p) noexcept {
  for (std::size_t i = p.first; i < p.last; ++i) {
    p.a[i] = initial_a;
    p.b[i] = initial_b;
    p.c[i] = initial_c;
  }
}

double read_through(const double* from, std::size_t bytes) noexcept {
  constexpr std::size_t lanes = 8;  // sums that don't wait for one another
  double sums[lanes] = {};
  for (std::size_t i = 0; i < bytes / sizeof(double); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += from[i + lane];
  }
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

}  // namespace homing::measure
