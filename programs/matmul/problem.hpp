// C = A B, recursive and cache-oblivious down to blocks of the second cache: each domain makes its rows of C out of its
// rows of A and everybody's of B.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../../bench/common/work.hpp"
#include "../common/recursion.hpp"
#include "../common/variants.hpp"
#include "leaf.hpp"

namespace matmul_program {

using namespace programs;

inline constexpr size_name sizes[] = {
    {"256", "3 x 0.5 MiB"}, {"1024", "3 x 8 MiB"}, {"2048", "3 x 32 MiB"}, {"4096", "3 x 128 MiB"}};
inline constexpr std::size_t rows[] = {256, 1024, 2048, 4096};

/// OpenBLAS, if the system has it. Its threads spin for a while when they have done their part: a product on one thread
/// leaves none behind.
struct blas {
  void (*product)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double* a, int lda,
                  const double* b, int ldb, double beta, double* c, int ldc) = nullptr;
  void (*set_threads)(int) = nullptr;
  [[nodiscard]] bool is_there() const { return product != nullptr && set_threads != nullptr; }
};
inline blas openblas(int threads) {
  blas found;
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return found;
  found.product = reinterpret_cast<decltype(found.product)>(dlsym(library, "cblas_dgemm"));
  found.set_threads = reinterpret_cast<decltype(found.set_threads)>(dlsym(library, "openblas_set_num_threads"));
  if (found.is_there()) found.set_threads(threads);
  return found;
}
inline void multiply_by(const blas& f, std::size_t n, const double* a, const double* b, double* c) {
  constexpr int row_major = 101;
  constexpr int as_is = 111;
  const int size = static_cast<int>(n);
  f.product(row_major, as_is, as_is, size, size, size, 1, a, size, b, size, 0, c, size);
}

/// For comparison: who writes no matrix product.
struct openblas_parts : serial_parts {
  using serial_parts::serial_parts;
};

template <class Deal>
class solver {
 public:
  explicit solver(const request& r)
      : deal_(r.threads),
        rows_(homing::block(rows[r.size])),
        seed_(r.seed),
        a_(rows_.size() * rows_.size()),
        b_(a_.size()),
        c_(a_.size()) {
    if constexpr (std::is_same_v<Deal, openblas_parts>) {
      blas_ = openblas(r.threads);
      if (!blas_.is_there()) throw std::runtime_error("openblas: no libopenblas.so.0; install libopenblas0-pthread");
    }
    reset();
    const auto whole_rows = homing::block(a_.size(), homing::domain_set::all(), rows_.size());
    for (array<double>* m : {&a_, &b_, &c_}) place_home(whole_rows, *m);
  }
  void reset() {
    deal_.over(rows_, [this](std::size_t first, std::size_t last) {
      for (std::size_t i = first * rows_.size(); i < last * rows_.size(); ++i) {
        a_[i] = value(2 * i);
        b_[i] = value(2 * i + 1);
        c_[i] = 0;
      }
    });
  }
  void run() {
    const std::size_t n = rows_.size();
    if constexpr (std::is_same_v<Deal, openblas_parts>) {
      multiply_by(blas_, n, a_.data(), b_.data(), c_.data());
    } else {
      deal_.root([&] {
        deal_.over_parts(
            [&](std::uint32_t p) {
              const interval mine = share_of(n, part_count(), p);
              multiply(homing::domain_index{p}, mine, {0, n}, {0, n});
            },
            [&](std::uint32_t p) { return &c_[share_of(n, part_count(), p).first * n]; });
      });
    }
  }
  /// Rows of C by the definition, and all of it against OpenBLAS where that is installed.
  [[nodiscard]] std::string wrong() {
    const std::size_t n = rows_.size();
    const double tolerance = 1e-15 * static_cast<double>(n);  // a sum of n products of numbers in -1..1
    for (std::size_t i = 0; i < n; i += n / 8 + 1) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += a_[i * n + k] * b_[k * n + j];
        if (!(std::abs(sum - c_[i * n + j]) < tolerance))
          return "element " + std::to_string(i) + ", " + std::to_string(j);
      }
    }
    if (!blas_.is_there()) blas_ = openblas(1);
    if (!blas_.is_there()) return "";
    array<double> expected(n * n);
    multiply_by(blas_, n, a_.data(), b_.data(), expected.data());
    for (std::size_t i = 0; i < n * n; ++i) {
      if (!(std::abs(c_[i] - expected[i]) < tolerance)) return "not OpenBLAS's element " + std::to_string(i);
    }
    note_ = "as OpenBLAS";
    return "";
  }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {a_.range(), b_.range(), c_.range()}; }
  /// Gigaflops.
  [[nodiscard]] double amount() const { return 2e-9 * std::pow(static_cast<double>(rows_.size()), 3); }
  [[nodiscard]] std::string note() const { return note_; }

  [[nodiscard]] migration moved() const { return moved_; }

 private:
  template <class Dist, class T>
  void place_home(const Dist& homes, array<T>& data) {
    if constexpr (Deal::places) place(homes, data, moved_);
  }
  [[nodiscard]] double value(std::size_t i) const {
    return static_cast<double>(bench::mix(i + seed_) >> 11) * 0x1p-52 - 1;
  }

  // C(r, c) += A(r, k) B(k, c): the longest side is halved; halves of k one after the other, since both add to C.
  // `home` has these rows of C: its work is counted where a thread does it, for others may steal it.
  void multiply(homing::domain_index home, interval r, interval c, interval k) {
    const bool fits = r.size() <= matmul::rows_max && c.size() <= matmul::columns_max && k.size() <= matmul::depth_max;
    if (fits) {
      const std::size_t n = rows_.size();
      count_work(home, r.size() * c.size() * k.size());
      matmul::multiply_leaf(r.size(), c.size(), k.size(), &a_[r.first * n + k.first], &b_[k.first * n + c.first],
                            &c_[r.first * n + c.first], n);
    } else if (k.size() > matmul::depth_max && k.size() >= std::max(r.size(), c.size())) {
      const std::size_t middle = k.first + k.size() / 2;
      multiply(home, r, c, {k.first, middle});
      multiply(home, r, c, {middle, k.last});
    } else if (c.size() > matmul::columns_max && (c.size() >= r.size() || r.size() <= matmul::rows_max)) {
      const std::size_t middle = c.first + c.size() / 2;
      deal_.both([&] { multiply(home, r, {c.first, middle}, k); }, [&] { multiply(home, r, {middle, c.last}, k); });
    } else if (r.size() > matmul::rows_max) {
      const std::size_t middle = r.first + r.size() / 2;
      deal_.both([&] { multiply(home, {r.first, middle}, c, k); }, [&] { multiply(home, {middle, r.last}, c, k); });
    } else {
      const std::size_t middle = k.first + k.size() / 2;
      multiply(home, r, c, {k.first, middle});
      multiply(home, r, c, {middle, k.last});
    }
  }

  Deal deal_;
  migration moved_;
  homing::regular_distribution<1> rows_;
  std::uint64_t seed_;
  array<double> a_, b_, c_;
  blas blas_;  ///< loaded when it is needed: it starts threads of its own
  std::string note_;
};

programs::variant_list openblas_variants();  // openblas.cpp

[[nodiscard]] inline programs::description about() noexcept {
  return {"matmul", "Matrix product, cache-oblivious.", "Gflop", sizes};
}

}  // namespace matmul_program
