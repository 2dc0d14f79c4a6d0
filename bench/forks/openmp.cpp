// The same recursive programs by OpenMP's tasks, as a peer of `forks`. A process of its own, since its threads spin
// when they have nothing to do.
#include <cmath>
#include <cstdint>
#include <string>

#include "../common/harness.hpp"
#include "recursions.hpp"

namespace {

using bench::recursions;
using bench::session;

struct openmp_tasks {
  template <typename F, typename G>
  static auto both(const F& f, const G& g) {
    std::pair<decltype(f()), decltype(g())> values{};
#pragma omp task shared(values, g) default(none)
    values.second = g();
    values.first = f();
#pragma omp taskwait
    return values;
  }
  template <typename Body>
  static void children(std::size_t count, const Body& body) {
    for (std::size_t child = 1; child < count; ++child) {
#pragma omp task shared(body) firstprivate(child) default(none)
      body(child);
    }
    if (count != 0) body(0);
#pragma omp taskwait
  }
};

template <typename Style, typename Around>
void measure_trees(session& s, const std::string& style, Around around) {
  using program = recursions<Style>;
  const auto measure = [&](const std::string& name, auto body) {
    s.measure(name + "_" + style, [body, around](std::uint64_t iterations) {
      for (std::uint64_t i = 0; i < iterations; ++i) around(body);
    });
  };
  measure("fib", [&s] { s.expect(program::fib(bench::opaque(24)) == 46'368, "fib(24) is 46368"); });
  measure("integrate", [&s] {
    const double to = bench::opaque(60.0);
    const double area = program::integrate(0, 0, to, program::curve(to), 0);
    s.expect(std::abs(area - (to * to * to * to / 4 + to * to / 2)) < 1e-2, "the area below x^3 + x");
  });
  measure("queens", [&s] { s.expect(program::queens(bench::opaque(9U), 0, 0, 0, 0) == 352, "352 solutions"); });
  measure("uts_geometric", [&s] {
    s.expect(program::template search<bench::geometric_tree>(bench::root_of_all_trees) == bench::geometric_tree::nodes,
             "the number of nodes of the tree");
  });
  measure("uts_binomial", [&s] {
    s.expect(program::template search<bench::binomial_tree>(bench::root_of_all_trees) == bench::binomial_tree::nodes,
             "the number of nodes of the tree");
  });
  measure("skynet", [&s] {
    s.expect(program::skynet(0, bench::opaque(std::uint64_t{100'000})) == 4'999'950'000, "the sum of all leaves");
  });
}

}  // namespace

int main(int argc, char** argv) {
  session s(argc, argv, "forks_openmp");
  const int threads = s.threads();
  measure_trees<openmp_tasks>(s, "openmp", [threads](const auto& body) {
#pragma omp parallel num_threads(threads)
#pragma omp single
    body();
  });
  return s.end();
}
