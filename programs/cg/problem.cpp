#include "problem.hpp"

#include <algorithm>

#include "../common/at_home.hpp"

namespace cg {
namespace {

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
constexpr programs::size_name sizes[] = {
    {"S", "1,400 rows"},   {"W", "7,000 rows"},
    {"A", "14,000 rows"},  {"B", "75,000 rows, 193 MB"},
    {"C", "150,000 rows"}, {"S3", "class S, 3 of its 15 outer iterations: for a virtual machine"}};

bool close(double found, double expected) { return std::abs(found - expected) <= 1e-10 * std::abs(expected); }

// The same elements in fresh pages of their own, without the room that repeated columns would have taken.
template <class T>
array<T> trimmed(const array<T>& from, std::size_t size) {
  array<T> to(size);
  std::copy_n(from.data(), size, to.data());
  return to;
}

}  // namespace

homing::piece nonzeros::run_at(std::size_t k, std::size_t last) const {
  const auto row = static_cast<std::size_t>(std::ranges::upper_bound(begins_, k) - begins_.begin() - 1);
  const homing::piece p = rows_.run_at(row, rows_.size());
  return {k, std::min<std::size_t>(begins_[p.last], last), p.home};
}

std::optional<homing::domain_index> nonzeros::home(const homing::box<1>& part) const {
  const homing::piece p = run_at(part.first[0], part.last[0]);
  return p.last == part.last[0] ? p.home : std::nullopt;
}

problem::problem(const request& r)
    : class_(classes[r.size]),
      rows_(homing::block(class_.rows)),
      a_(make_matrix(class_.rows, class_.nonzeros, class_.shift)) {
  const std::size_t count = a_.begins[class_.rows];
  a_.a = trimmed(a_.a, count);
  a_.columns = trimmed(a_.columns, count);
}

void problem::ones(std::size_t first, std::size_t last) const {
  programs::count_work(rows_, first, last);
  for (std::size_t j = first; j < last; ++j) one(j);
}

double problem::begin(std::size_t first, std::size_t last) const {
  programs::count_work(rows_, first, last);
  double sum = 0;
  for (std::size_t j = first; j < last; ++j) sum += begin(j);
  return sum;
}

double problem::multiply(std::size_t first, std::size_t last) const {
  programs::count_work(rows_, first, last);
  double sum = 0;
  for (std::size_t j = first; j < last; ++j) sum += multiply(j);
  return sum;
}

double problem::advance(double alpha, std::size_t first, std::size_t last) const {
  programs::count_work(rows_, first, last);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = first; j < last; ++j) sum += advance(alpha, j);
  return sum;
}

void problem::turn(double beta, std::size_t first, std::size_t last) const {
  programs::count_work(rows_, first, last);
#pragma omp simd
  for (std::size_t j = first; j < last; ++j) turn(beta, j);
}

double problem::xz(std::size_t first, std::size_t last) const {
  programs::count_work(rows_, first, last);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = first; j < last; ++j) sum += xz(j);
  return sum;
}

double problem::zz(std::size_t first, std::size_t last) const {
  programs::count_work(rows_, first, last);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = first; j < last; ++j) sum += zz(j);
  return sum;
}

void problem::scale(double by, std::size_t first, std::size_t last) const {
  programs::count_work(rows_, first, last);
#pragma omp simd
  for (std::size_t j = first; j < last; ++j) scale(by, j);
}

void problem::forget() {
  zeta_.clear();
  inner_.clear();
}

void problem::found_inner(double rho, double d) {
  if (inner_.size() < class_.inner.size()) inner_.push_back({rho, d});
}

std::string problem::wrong() const {
  for (std::size_t i = 0; i < class_.inner.size(); ++i) {
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

double problem::amount() const {
  const auto n = static_cast<double>(class_.nonzeros) * static_cast<double>(class_.nonzeros + 1);
  return 2.0 * class_.iterations * static_cast<double>(class_.rows) * (3 + n + inner_iterations * (5 + n) + 3) / 1e6;
}

std::vector<homing::memory_range> problem::data() const {
  std::vector<homing::memory_range> all{a_.a.range(), a_.columns.range()};
  for (double* const v : {x_, z_, p_, q_, r_}) all.emplace_back(v, size() * sizeof(double));
  return all;
}

solver_in_pages::solver_in_pages(const request& r) : p_(r) {
  for (array<double>& v : vectors_) v = array<double>(p_.size());
  p_.see(vectors_[0].data(), vectors_[1].data(), vectors_[2].data(), vectors_[3].data(), vectors_[4].data());
}

programs::description about() noexcept {
  return {"cg", "NAS CG: conjugate gradients on a random sparse matrix.", "Mop", sizes};
}

}  // namespace cg
