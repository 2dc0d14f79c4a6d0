// NAS CG: the smallest eigenvalue of a sparse matrix by inverse power iteration, each step solved by 25 steps of
// conjugate gradients. Rows, nonzeros and vectors are distributed alike (TBB-NUMA, figure 11).
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "../common/models.hpp"
#include "matrix.hpp"

namespace {

using namespace programs;

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

constexpr nas_class classes[] = {
    {1400,
     7,
     15,
     10,
     {9.9986441579140, 8.5733279203222, 8.5954510374058},
     8.5971775078648,
     {{{1400, -4796.559321013359}, {1165.799744366014, -4648.869876885449}, {192.0733087279893, -1114.004459184543}}}},
    {7000,
     8,
     15,
     12,
     {11.999700372738, 10.345727566406, 10.361788013796},
     10.362595087124,
     {{{7000, -26325.25601445847}, {6677.420587958040, -32952.56048306281}, {886.5365817182305, -6777.646887090582}}}},
    {14000,
     11,
     15,
     20,
     {19.999758127704, 17.114049574551, 17.129666894614},
     17.130235054029,
     {{{14000, -77001.56841583287}, {14773.82719364008, -142867.7856494781}, {862.6040737947158, -12512.19254197592}}}},
    {75000, 13, 75, 60, {59.999475157875, 21.762784614254, 22.287661704322}, 22.712745482631, {}},
    {150000, 15, 75, 110, {109.99944232374, 27.392043714650, 28.033976184028}, 28.973605592845, {}},
    {1400,  // class S again, as far as its first zetas are known: for a virtual machine
     7,
     3,
     10,
     {9.9986441579140, 8.5733279203222, 8.5954510374058},
     8.5954510374058,
     {{{1400, -4796.559321013359}, {1165.799744366014, -4648.869876885449}, {192.0733087279893, -1114.004459184543}}}},
};
constexpr size_name sizes[] = {
    {"S", "1,400 rows"},   {"W", "7,000 rows"},
    {"A", "14,000 rows"},  {"B", "75,000 rows, 193 MB"},
    {"C", "150,000 rows"}, {"S3", "class S, 3 of its 15 outer iterations: for a virtual machine"}};
constexpr int inner_iterations = 25;

/// A nonzero's home is that of its row: the rows' pieces, seen along the nonzeros.
class nonzeros {
 public:
  nonzeros(const homing::regular_distribution<1>& rows, const std::uint64_t* begins)
      : rows_(rows), begins_(begins, begins + rows.size() + 1) {}
  [[nodiscard]] std::size_t size() const { return begins_.back(); }
  [[nodiscard]] homing::piece run_at(std::size_t k, std::size_t last) const {
    const auto row = static_cast<std::size_t>(std::ranges::upper_bound(begins_, k) - begins_.begin() - 1);
    const homing::piece p = rows_.run_at(row, rows_.size());
    return {k, std::min<std::size_t>(begins_[p.last], last), p.home};
  }
  [[nodiscard]] std::optional<homing::domain_index> home(const homing::box<1>& part) const {
    const homing::piece p = run_at(part.first[0], part.last[0]);
    return p.last == part.last[0] ? p.home : std::nullopt;
  }

 private:
  homing::regular_distribution<1> rows_;
  std::vector<std::uint64_t> begins_;
};

bool close(double found, double expected) { return std::abs(found - expected) <= 1e-10 * std::abs(expected); }

template <class Model>
class solver {
 public:
  solver(const request& r, Model& model)
      : class_(classes[r.size]),
        model_(model),
        rows_(class_.rows),
        matrix_(cg::make_matrix(class_.rows, class_.nonzeros, class_.shift)),
        x_(class_.rows),
        z_(class_.rows),
        p_(class_.rows),
        q_(class_.rows),
        r_(class_.rows) {
    const nonzeros along(rows_.homes(), matrix_.begins.data());
    array<double> a(along.size());  // without the room that repeated columns would have taken
    array<std::uint32_t> columns(along.size());
    std::copy_n(matrix_.a.data(), a.size(), a.data());
    std::copy_n(matrix_.columns.data(), columns.size(), columns.data());
    matrix_.a = std::move(a);
    matrix_.columns = std::move(columns);
    model_.place(along, matrix_.a);
    model_.place(along, matrix_.columns);
    for (array<double>* v : {&x_, &z_, &p_, &q_, &r_}) model_.place(rows_.homes(), *v);
  }

  /// The untimed outer iteration, and x = 1 again.
  void reset() {
    fill_x();
    outer_iteration();
    fill_x();
    zeta_.clear();
    inner_.clear();
  }
  void run() {
    for (int i = 0; i < class_.iterations; ++i) outer_iteration();
  }
  [[nodiscard]] std::string wrong() const {
    for (std::size_t i = 0; i < 3; ++i) {
      const known& k = class_.inner[i];
      if (k.rho != 0 && !(close(inner_[i].rho, k.rho) && close(inner_[i].d, k.d))) {
        return "inner iteration " + std::to_string(i + 1) + ": rho " + std::to_string(inner_[i].rho) + ", p.q " +
               std::to_string(inner_[i].d);
      }
      if (!close(zeta_[i], class_.zeta_first[i]))
        return "zeta " + std::to_string(i + 1) + ": " + std::to_string(zeta_[i]);
    }
    return close(zeta_.back(), class_.zeta) ? "" : "the last zeta: " + std::to_string(zeta_.back());
  }
  [[nodiscard]] std::vector<homing::memory_range> data() const {
    return {matrix_.a.range(), matrix_.columns.range(), x_.range(), z_.range(), p_.range(), q_.range(), r_.range()};
  }
  /// Millions of operations, as NAS counts them.
  [[nodiscard]] double amount() const {
    const auto n = static_cast<double>(class_.nonzeros) * static_cast<double>(class_.nonzeros + 1);
    return 2.0 * class_.iterations * static_cast<double>(class_.rows) * (3 + n + 25 * (5 + n) + 3) / 1e6;
  }

 private:
  void fill_x() {
    model_.loop(rows_, [this](std::size_t first, std::size_t last) { std::fill(&x_[first], &x_[0] + last, 1.0); });
  }

  void outer_iteration() {
    conj_grad();
    const double xz = dot(x_, z_);
    const double scale = 1 / std::sqrt(dot(z_, z_));
    zeta_.push_back(class_.shift + 1 / xz);
    model_.loop(rows_, [&](std::size_t first, std::size_t last) {
      for (std::size_t j = first; j < last; ++j) x_[j] = scale * z_[j];
    });
  }

  double dot(const array<double>& u, const array<double>& v) {
    return model_.sum(rows_, 0.0, [&](std::size_t first, std::size_t last) {
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::size_t j = first; j < last; ++j) sum += u[j] * v[j];
      return sum;
    });
  }

  /// Solves A z = x, as far as 25 steps go.
  void conj_grad() {
    double rho = model_.sum(rows_, 0.0, [this](std::size_t first, std::size_t last) { return begin(first, last); });
    for (int i = 0; i < inner_iterations; ++i) {
      const double d =
          model_.sum(rows_, 0.0, [this](std::size_t first, std::size_t last) { return multiply(first, last); });
      if (inner_.size() < 3) inner_.push_back({rho, d});
      const double alpha = rho / d;
      const double next = model_.sum(
          rows_, 0.0, [this, alpha](std::size_t first, std::size_t last) { return advance(alpha, first, last); });
      const double beta = next / std::exchange(rho, next);
      model_.loop(rows_, [this, beta](std::size_t first, std::size_t last) {
        for (std::size_t j = first; j < last; ++j) p_[j] = r_[j] + beta * p_[j];
      });
    }
  }

  // Each of these works on some rows, and returns their part of a sum: r.r, p.q, r.r.
  double begin(std::size_t first, std::size_t last) const {
    double sum = 0;
    for (std::size_t j = first; j < last; ++j) {
      z_[j] = q_[j] = 0;
      p_[j] = r_[j] = x_[j];
      sum += r_[j] * r_[j];
    }
    return sum;
  }
  double multiply(std::size_t first, std::size_t last) const {
    const double* const a = matrix_.a.data();
    const std::uint32_t* const columns = matrix_.columns.data();
    const double* const p = p_.data();
    double sum = 0;
    for (std::size_t j = first; j < last; ++j) {
      double row = 0;
#pragma omp simd reduction(+ : row)
      for (std::size_t k = matrix_.begins[j]; k < matrix_.begins[j + 1]; ++k) row += a[k] * p[columns[k]];
      q_[j] = row;
      sum += row * p[j];
    }
    return sum;
  }
  double advance(double alpha, std::size_t first, std::size_t last) const {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t j = first; j < last; ++j) {
      z_[j] += alpha * p_[j];
      r_[j] -= alpha * q_[j];
      sum += r_[j] * r_[j];
    }
    return sum;
  }

  const nas_class& class_;
  Model& model_;
  space rows_;
  cg::matrix matrix_;
  array<double> x_, z_, p_, q_, r_;
  std::vector<double> zeta_;
  std::vector<known> inner_;
};

}  // namespace

int main(int argc, char** argv) {
  return run_loops<solver>(argc, argv, {"cg", "NAS CG: conjugate gradients on a random sparse matrix.", "Mop", sizes});
}
