// Figure 11 of the TBB-NUMA paper, in the shape of cg: conjugate gradients on a sparse matrix. The rows are distributed
// over the domains, their nonzeros follow them, and one loop serves both worlds: `use_numa ? dd : ap`.
//
//   figure11_conjugate_gradient [tbb]      with "tbb": affinity_partitioner and no placement, as a program without
//   Homing
#include <homing/parallel_for.hpp>
#include <homing/parallel_reduce.hpp>
#include <homing/placement.hpp>
#include <homing/schedule.hpp>

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using range = tbb::blocked_range<std::size_t>;
using vector = std::vector<double>;

constexpr std::size_t size = 20'160;  // equal shares for two to ten domains

// Rows, in compressed form: row j has the nonzeros a[k] in columns colidx[k], rowstr[j] <= k < rowstr[j + 1].
std::vector<std::size_t> rowstr;
std::vector<std::size_t> colidx;
vector a;

// Symmetric, and positive definite: what is on the diagonal outweighs what is beside it. Rows differ in length.
void make_matrix() {
  const auto add = [](std::size_t column, double value) {
    colidx.push_back(column);
    a.push_back(value);
  };
  rowstr.push_back(0);
  for (std::size_t j = 0; j < size; ++j) {
    for (const std::size_t distance : {std::size_t{1}, std::size_t{140}, std::size_t{7777}}) {
      if (j >= distance) add(j - distance, -1);
      if (j + distance < size) add(j + distance, -1);
    }
    add(j, 6.5);
    rowstr.push_back(a.size());
  }
}

// A distribution of our own has one member: the home of some nonzeros is that of their rows, if those have one.
struct nonzeros {
  homing::regular_distribution<> rows;
  [[nodiscard]] static std::size_t row_of(std::size_t k) {
    return static_cast<std::size_t>(std::upper_bound(rowstr.begin(), rowstr.end(), k) - rowstr.begin()) - 1;
  }
  [[nodiscard]] std::optional<homing::domain_index> home(const homing::box<1>& part) const {
    return rows.home(homing::interval(row_of(part.first[0]), row_of(part.last[0] - 1) + 1));
  }
};

std::atomic<std::size_t> at_home{0};  // rows that were multiplied in the domain of their nonzeros
constexpr int first_counted = 2;      // of the steps: while the first ones run, threads are still being made

// Solves A x = b and returns how many steps it took. Each loop goes to its rows.
int conj_grad(const vector& b, vector& x, const homing::regular_distribution<>& dd, const homing::schedule& how) {
  vector r = b;
  vector p = b;
  vector w(size);
  const auto dot = [&](const vector& u, const vector& v) {
    const auto part = [&](const range& rows, double sum) {
      for (std::size_t j = rows.begin(); j != rows.end(); ++j) sum += u[j] * v[j];
      return sum;
    };
    return homing::parallel_reduce(range(0, size), 0.0, part, std::plus<>(), how);
  };
  double rho = dot(r, r);
  int steps = 0;
  for (; std::sqrt(rho) > 1e-10 && steps < 500; ++steps) {
    if (steps == first_counted) at_home = 0;
    homing::parallel_for(
        range(0, size),
        [&](const range& rows) {
          for (std::size_t j = rows.begin(); j != rows.end(); ++j) {
            double sum = 0;
            for (std::size_t k = rowstr[j]; k < rowstr[j + 1]; ++k) sum += a[k] * p[colidx[k]];
            w[j] = sum;
          }
          if (dd.home(homing::interval(rows.begin(), rows.end())) == homing::current_domain()) at_home += rows.size();
        },
        how);
    const double alpha = rho / dot(p, w);
    homing::parallel_for(
        std::size_t{0}, size,
        [&](std::size_t j) {
          x[j] += alpha * p[j];
          r[j] -= alpha * w[j];
        },
        how);
    const double rho_before = std::exchange(rho, dot(r, r));
    homing::parallel_for(
        std::size_t{0}, size, [&](std::size_t j) { p[j] = r[j] + rho / rho_before * p[j]; }, how);
  }
  return steps;
}

}  // namespace

int main(int count, char** arguments) {
  const bool use_numa = !(count > 1 && std::string_view(arguments[1]) == "tbb");
  make_matrix();
  vector x(size);

  const homing::regular_distribution dd = homing::block(size);
  tbb::affinity_partitioner ap;
  homing::placed_range placed[2];  // keep the policies as long as the data
  if (use_numa) {
    placed[0] = homing::enforce(nonzeros{dd}, a);
    placed[1] = homing::enforce(nonzeros{dd}, colidx);
    std::printf("a: %s\ncolidx: %s\n", placed[0].report().describe().c_str(), placed[1].report().describe().c_str());
  }
  const int steps = conj_grad(vector(size, 1.0), x, dd, use_numa ? homing::schedule(dd) : ap);

  // Is it the solution? One row after the other, without any of the above.
  double error = 0;
  for (std::size_t j = 0; j < size; ++j) {
    double sum = 0;
    for (std::size_t k = rowstr[j]; k < rowstr[j + 1]; ++k) sum += a[k] * x[colidx[k]];
    error = std::max(error, std::abs(sum - 1));
  }
  std::printf("%d steps on %u domains with %s: the largest error is %.1e\n", steps, homing::domain_count(),
              use_numa ? "a distribution" : "affinity_partitioner", error);

  // Homes are hints. But on a machine as busy as it may be, they do no worse than chance; unless there are fewer
  // threads than domains, so that some have none.
  const std::size_t rows = size * static_cast<std::size_t>(steps - first_counted);
  std::printf("from the third step on, %zu of %zu rows ran at home\n", at_home.load(), rows);
  const bool judged = use_numa && homing::runtime().is_homing &&
                      tbb::this_task_arena::max_concurrency() >= static_cast<int>(homing::domain_count());
  const bool helps = !judged || at_home * homing::domain_count() >= rows;
  if (!judged) std::puts("not judged: that takes a distribution, Homing's scheduler, and as many threads as domains");
  if (!helps) std::puts("WRONG: fewer rows at home than by chance");
  return error < 1e-8 && helps ? 0 : 1;
}
