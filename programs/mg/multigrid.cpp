#include "multigrid.hpp"

#include <algorithm>

namespace mg {
namespace {

template <class F>
void for_each_row(const box<3>& part, const F& f) {
  for (std::size_t i = part.first[0]; i < part.last[0]; ++i) {
    for (std::size_t j = part.first[1]; j < part.last[1]; ++j) f(i, j);
  }
}

}  // namespace

void rows_around::read(const cells& from, std::size_t i, std::size_t j, std::size_t first, std::size_t last) noexcept {
  const std::size_t up = from.before(i);
  const std::size_t down = from.after(i);
  const std::size_t left = from.before(j);
  const std::size_t right = from.after(j);
  const double* const c = from.row(i, j);
  const double* const f0 = from.row(i, left);
  const double* const f1 = from.row(i, right);
  const double* const f2 = from.row(up, j);
  const double* const f3 = from.row(down, j);
  const double* const e0 = from.row(up, left);
  const double* const e1 = from.row(up, right);
  const double* const e2 = from.row(down, left);
  const double* const e3 = from.row(down, right);
  const auto column = [&](std::size_t k, std::size_t to) {
    own[to] = c[k];
    faces[to] = f0[k] + f1[k] + f2[k] + f3[k];
    edges[to] = e0[k] + e1[k] + e2[k] + e3[k];
  };
  column(from.before(first), first);
#pragma omp simd
  for (std::size_t k = first; k < last; ++k) column(k, k + 1);
  column(last == from.side ? 0 : last, last + 1);
}

void residual(const cells& u, const cells& v, const cells& r, const coefficients& a, const box<3>& part) noexcept {
  rows_around t;
  for_each_row(part, [&](std::size_t i, std::size_t j) {
    t.read(u, i, j, part.first[2], part.last[2]);
    const double* const of_v = v.row(i, j);
    double* const to = r.row(i, j);
#pragma omp simd
    for (std::size_t k = part.first[2]; k < part.last[2]; ++k) {  // a[1] is 0
      to[k] = of_v[k] - a[0] * t.own[k + 1] - a[2] * (t.edges[k + 1] + t.faces[k] + t.faces[k + 2]) -
              a[3] * (t.edges[k] + t.edges[k + 2]);
    }
  });
}

void smooth(const cells& r, const cells& u, const coefficients& c, const box<3>& part) noexcept {
  rows_around t;
  for_each_row(part, [&](std::size_t i, std::size_t j) {
    t.read(r, i, j, part.first[2], part.last[2]);
    double* const to = u.row(i, j);
#pragma omp simd
    for (std::size_t k = part.first[2]; k < part.last[2]; ++k) {  // c[3] is 0
      to[k] += c[0] * t.own[k + 1] + c[1] * (t.own[k] + t.own[k + 2] + t.faces[k + 1]) +
               c[2] * (t.edges[k + 1] + t.faces[k] + t.faces[k + 2]);
    }
  });
}

void restrict_to(const cells& fine, const cells& coarse, const box<3>& part) noexcept {
  rows_around t;
  for_each_row(part, [&](std::size_t i, std::size_t j) {
    t.read(fine, 2 * i + 1, 2 * j + 1, 2 * part.first[2] + 1, 2 * part.last[2]);
    double* const to = coarse.row(i, j);
    for (std::size_t k = part.first[2]; k < part.last[2]; ++k) {
      const std::size_t m = 2 * k + 2;  // the fine point 2 k + 1
      to[k] = 0.5 * t.own[m] + 0.25 * (t.own[m - 1] + t.own[m + 1] + t.faces[m]) +
              0.125 * (t.edges[m] + t.faces[m - 1] + t.faces[m + 1]) + 0.0625 * (t.edges[m - 1] + t.edges[m + 1]);
    }
  });
}

void prolong(const cells& coarse, const cells& fine, const box<3>& part) noexcept {
  std::array<double, side_max / 2 + 1> mean;  // of the coarse rows around, one column before
  for_each_row(part, [&](std::size_t i, std::size_t j) {
    // An odd place is a coarse one's own, an even one lies between two.
    const std::size_t i1 = i / 2;
    const std::size_t i0 = i % 2 == 0 ? coarse.before(i1) : i1;
    const std::size_t j1 = j / 2;
    const std::size_t j0 = j % 2 == 0 ? coarse.before(j1) : j1;
    const double* const z00 = coarse.row(i0, j0);
    const double* const z01 = coarse.row(i0, j1);
    const double* const z10 = coarse.row(i1, j0);
    const double* const z11 = coarse.row(i1, j1);
    const std::size_t first = part.first[2] / 2;
    const std::size_t last = (part.last[2] + 1) / 2;
    const auto column = [&](std::size_t k, std::size_t to) { mean[to] = 0.25 * (z00[k] + z01[k] + z10[k] + z11[k]); };
    column(coarse.before(first), first);
    for (std::size_t k = first; k < last; ++k) column(k, k + 1);
    double* const to = fine.row(i, j);
    for (std::size_t k = first; k < last; ++k) {
      if (2 * k >= part.first[2]) to[2 * k] += 0.5 * (mean[k] + mean[k + 1]);
      if (2 * k + 1 < part.last[2]) to[2 * k + 1] += mean[k + 1];
    }
  });
}

}  // namespace mg
