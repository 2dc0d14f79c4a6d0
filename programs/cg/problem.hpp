// NAS CG: the smallest eigenvalue of a sparse matrix by inverse power iteration, each step solved by 25 steps of
// conjugate gradients. Rows, nonzeros and vectors are distributed alike (TBB-NUMA, figure 11).
#pragma once

#include <homing/distribution.hpp>
#include <homing/placement.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/variants.hpp"
#include "matrix.hpp"

namespace cg {

using programs::array;
using programs::request;

inline constexpr int inner_iterations = 25;

struct known {
  double rho;
  double d;
};
struct nas_class {
  std::size_t rows;
  std::size_t nonzeros;
  int iterations;
  double shift;
  std::array<double, 3> zeta_first;  ///< after outer iterations 1, 2, 3
  double zeta;
  std::array<known, 3> inner;  ///< rho before and p.q, of the first call's inner iterations 1, 2, 3; zeros: not known
};

/// A nonzero's home is that of its row: the rows' pieces, seen along the nonzeros.
class nonzeros {
 public:
  nonzeros(const homing::regular_distribution<1>& rows, const std::uint64_t* begins)
      : rows_(rows), begins_(begins, begins + rows.size() + 1) {}
  [[nodiscard]] std::size_t size() const { return begins_.back(); }
  [[nodiscard]] homing::piece run_at(std::size_t k, std::size_t last) const;
  [[nodiscard]] std::optional<homing::domain_index> home(const homing::box<1>& part) const;

 private:
  homing::regular_distribution<1> rows_;
  std::vector<std::uint64_t> begins_;
};

/// The matrix, what is done to each row, and what is known of the result. The vectors' memory is the variant's.
///
/// Threads: rows are anybody's between two meetings of all threads; found_*() are one thread's.
class problem {
 public:
  explicit problem(const request& r);

  /// Of x, z, p, q and r, which a variant has made.
  void see(double* x, double* z, double* p, double* q, double* r) { x_ = x, z_ = z, p_ = p, q_ = q, r_ = r; }

  // Of one row: values that are summed are returned.
  void one(std::size_t j) const { x_[j] = 1; }
  double begin(std::size_t j) const {  ///< r.r
    z_[j] = q_[j] = 0;
    p_[j] = r_[j] = x_[j];
    return r_[j] * r_[j];
  }
  double multiply(std::size_t j) const {  ///< q = A p; p.q
    const double* const a = a_.a.data();
    const std::uint32_t* const columns = a_.columns.data();
    double row = 0;
#pragma omp simd reduction(+ : row)
    for (std::size_t k = a_.begins[j]; k < a_.begins[j + 1]; ++k) row += a[k] * p_[columns[k]];
    q_[j] = row;
    return row * p_[j];
  }
  double advance(double alpha, std::size_t j) const {  ///< r.r
    z_[j] += alpha * p_[j];
    r_[j] -= alpha * q_[j];
    return r_[j] * r_[j];
  }
  void turn(double beta, std::size_t j) const { p_[j] = r_[j] + beta * p_[j]; }
  [[nodiscard]] double xz(std::size_t j) const { return x_[j] * z_[j]; }
  [[nodiscard]] double zz(std::size_t j) const { return z_[j] * z_[j]; }
  void scale(double by, std::size_t j) const { x_[j] = by * z_[j]; }

  // Of rows first..last-1; the work is counted.
  void ones(std::size_t first, std::size_t last) const;
  double begin(std::size_t first, std::size_t last) const;
  double multiply(std::size_t first, std::size_t last) const;
  double advance(double alpha, std::size_t first, std::size_t last) const;
  void turn(double beta, std::size_t first, std::size_t last) const;
  [[nodiscard]] double xz(std::size_t first, std::size_t last) const;
  [[nodiscard]] double zz(std::size_t first, std::size_t last) const;
  void scale(double by, std::size_t first, std::size_t last) const;

  [[nodiscard]] const homing::regular_distribution<1>& rows() const { return rows_; }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] int iterations() const { return class_.iterations; }
  [[nodiscard]] nonzeros along_nonzeros() const { return {rows_, a_.begins.data()}; }
  [[nodiscard]] matrix& a() { return a_; }

  void forget();
  void found_inner(double rho, double d);
  void found_outer(double x_dot_z) { zeta_.push_back(class_.shift + 1 / x_dot_z); }
  [[nodiscard]] std::string wrong() const;
  /// Millions of operations, as NAS counts them.
  [[nodiscard]] double amount() const;
  [[nodiscard]] std::vector<homing::memory_range> data() const;

 private:
  const nas_class& class_;
  homing::regular_distribution<1> rows_;
  matrix a_;
  double *x_ = nullptr, *z_ = nullptr, *p_ = nullptr, *q_ = nullptr, *r_ = nullptr;
  std::vector<double> zeta_;
  std::vector<known> inner_;
};

/// What variants have in common: a problem whose vectors are in plain pages, touched first by the variant's own loops.
class solver_in_pages {
 public:
  explicit solver_in_pages(const request& r);
  [[nodiscard]] std::string wrong() const { return p_.wrong(); }
  [[nodiscard]] double amount() const { return p_.amount(); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return p_.data(); }

 protected:
  problem p_;

 private:
  std::array<array<double>, 5> vectors_;
};

[[nodiscard]] programs::description about() noexcept;

}  // namespace cg
