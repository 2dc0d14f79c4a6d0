#include "matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace cg {
namespace {

constexpr double condition = 0.1;  // rcond

// NAS's generator: x' = 5^13 x mod 2^46, as a number in 0..1.
class generator {
 public:
  double next() noexcept {
    x_ = x_ * 1'220'703'125 & ((std::uint64_t{1} << 46) - 1);
    return static_cast<double>(x_) * 0x1p-46;
  }

 private:
  std::uint64_t x_ = 314'159'265;
};

struct element {
  std::uint32_t column;
  double value;
};
using sparse_vector = std::vector<element>;

// `nonzeros` random elements in distinct places, and 0.5 in the place of the vector's own number.
sparse_vector random_vector(generator& random, std::size_t rows, std::size_t nonzeros, std::uint32_t own) {
  const auto places = static_cast<double>(std::bit_ceil(rows));
  sparse_vector v;
  const auto find = [&v](std::uint32_t at) { return std::ranges::find(v, at, &element::column); };
  while (v.size() < nonzeros) {
    const double value = random.next();
    const auto at = static_cast<std::uint32_t>(places * random.next());
    if (at < rows && find(at) == v.end()) v.push_back({at, value});
  }
  const auto mine = find(own);
  if (mine == v.end()) {
    v.push_back({own, 0.5});
  } else {
    mine->value = 0.5;
  }
  return v;
}

// All products of one row, in columns that may repeat, become its elements.
void merge(std::vector<element>& row) {
  std::ranges::stable_sort(row, {}, &element::column);
  std::size_t last = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i].column == row[last].column) {
      row[last].value += row[i].value;
    } else {
      row[++last] = row[i];
    }
  }
  row.resize(last + 1);
}

}  // namespace

matrix make_matrix(std::size_t rows, std::size_t nonzeros, double shift) {
  generator random;
  static_cast<void>(random.next());  // the specification's first draw, which nobody uses
  std::vector<sparse_vector> vectors(rows);
  std::vector<std::vector<std::pair<std::uint32_t, double>>> with(rows);  // vectors that have this row, and the factor
  const double ratio = std::pow(condition, 1.0 / static_cast<double>(rows));
  double size = 1;
  std::size_t products = 0;
  for (std::uint32_t i = 0; i < rows; ++i) {
    vectors[i] = random_vector(random, rows, nonzeros, i);
    for (const element& e : vectors[i]) with[e.column].emplace_back(i, size * e.value);
    products += vectors[i].size() * vectors[i].size();
    size *= ratio;
  }
  matrix m{programs::array<std::uint64_t>(rows + 1), programs::array<std::uint32_t>(products),
           programs::array<double>(products)};
  std::vector<element> row;
  std::size_t k = 0;
  for (std::uint32_t j = 0; j < rows; ++j) {
    row.clear();
    for (const auto& [i, factor] : with[j]) {
      for (const element& e : vectors[i]) {
        const double diagonal = e.column == j && i == j ? condition - shift : 0;
        row.push_back({e.column, e.value * factor + diagonal});
      }
    }
    merge(row);
    m.begins[j] = k;
    for (const element& e : row) {
      m.columns[k] = e.column;
      m.a[k++] = e.value;
    }
  }
  m.begins[rows] = k;
  return m;
}

}  // namespace cg
