// What the programs' checks and counters say is true: a right result passes, and one with a NaN, a wrong value or
// nothing done does not; work that another domain's thread takes is counted as its. Method: solvers in this process,
// whose data is spoilt, or whose work is dealt so that it is known who does it, on a made-up machine of four domains.
#include <homing/pinned.hpp>
#include <homing/topology.hpp>

#include <oneapi/tbb/info.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../cilksort/problem.hpp"
#include "../common/driver.hpp"
#include "../common/node_arenas.hpp"
#include "../common/trapezoids.hpp"
#include "../fluidanimate/problem.hpp"
#include "../heat/problem.hpp"
#include "../jacobi/problem.hpp"
#include "../matmul/problem.hpp"
#include "../stream/problem.hpp"
#include "../transpose/problem.hpp"

namespace {

int failures = 0;

void check(bool condition, const std::string& what) {
  std::printf("%s: %s\n", condition ? "ok" : "FAILED", what.c_str());
  failures += condition ? 0 : 1;
}

/// A value in the middle of an array of doubles.
double& middle_of(const homing::memory_range& data) {
  return reinterpret_cast<double*>(data.address())[data.bytes() / sizeof(double) / 2 + 3];
}

/// `result` says where the result is, of the solver's ranges.
template <class Solver>
void spoil(const std::string& name, Solver& solver, std::size_t result) {
  solver.reset();
  solver.run();
  check(solver.wrong().empty(), name + ": a right result");
  double& value = middle_of(solver.data()[result]);
  const double right = value;
  for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), right + 1e-3 * std::max(1.0, std::abs(right))}) {
    value = wrong;
    check(!solver.wrong().empty(), name + ": refuses " + std::to_string(wrong) + " for " + std::to_string(right));
  }
  value = right;
  solver.reset();
  check(!solver.wrong().empty(), name + ": refuses a repetition that does nothing");
}

/// A problem whose arrays are made here: no variant's loops are needed.
struct plain_stream {
  programs::array<double> a, b, c;
  stream::problem p;
  explicit plain_stream(const programs::request& r) : plain_stream(r, stream::problem(r).size()) {}
  plain_stream(const programs::request& r, std::size_t size) : a(size), b(size), c(size), p(r) {
    p.see(a.data(), b.data(), c.data());
  }
  void reset() { std::ranges::fill(std::span(c.data(), c.size()), -1.0); }
  void run() { p.fill(0, p.size()); }
  [[nodiscard]] std::string wrong() const { return p.wrong(); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return p.data(); }
};

struct plain_jacobi : jacobi_program::solver_in_pages {
  using solver_in_pages::solver_in_pages;
  void reset() { p_.touch(0, p_.blocks().size()); }
  void run() {
    for (int s = 0; s < p_.sweeps(); ++s) p_.sweep(s, 0, p_.blocks().size());
  }
};

/// One part, begun in domain 0; of each fork domain 1 takes a branch.
struct stolen_parts : programs::serial_parts {
  using serial_parts::serial_parts;
  template <class F, class Data>
  void over_parts(const F& f, const Data&) {
    homing::domain_arena(homing::domain_index{0}, 1).execute([&] { f(0); });
  }
  template <class F, class G>
  void both(const F& f, const G& g) {
    f();
    homing::domain_arena(homing::domain_index{1}, 1).execute(g);
  }
};

template <class Solver>
programs::work_done work_of() {
  Solver solver(programs::request{});
  solver.reset();
  programs::forget_work();
  solver.run();
  return programs::counted_work();
}

void work_where_it_is_done() {
  using matmul = matmul_program::solver<stolen_parts>;
  using cilksort = cilksort_program::solver<stolen_parts>;
  for (const auto& [name, done] :
       {std::pair("matmul", work_of<matmul>()), std::pair("cilksort", work_of<cilksort>())}) {
    check(done.at_home > 0, std::string(name) + ": work at home is counted");
    check(done.away > 0, std::string(name) + ": stolen work is counted as away");
  }
  // Its part is one task here.
  const programs::work_done done = work_of<transpose_program::solver<stolen_parts>>();
  check(done.at_home > 0 && done.away == 0, "transpose: a part that one task does is counted");
}

/// Of the driver: a result that is wrong in the warm-up.
struct wrong_solver {
  explicit wrong_solver(const programs::request&) {}
  void reset() {}
  void run() {}
  [[nodiscard]] std::string wrong() const { return "by design"; }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {}; }
  [[nodiscard]] double amount() const { return 1; }
};

void wrong_warm_up() {
  constexpr programs::size_name sizes[] = {{"one", ""}};
  const programs::variant variants[] = {{"serial", "wrong", programs::measure<wrong_solver, programs::one_thread>}};
  std::string words[] = {"made_up", "--variant", "serial", "--check", "--warm-up", "2", "--json"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int status = programs::run_program(static_cast<int>(std::size(words)), arguments.data(),
                                           {"made_up", "", "thing", sizes}, variants);
  check(status == 3, "a wrong result in the warm-up ends the program with 3");
}

void arenas_of_one_thread() {
  const programs::tbb_limit limit(1);
  programs::node_arenas arenas(1);
  check(arenas.count() == 4, "an arena a node");
  std::atomic<std::size_t> here{0};
  arenas.in_each(
      [&, caller = std::this_thread::get_id()](std::size_t) { here += std::this_thread::get_id() == caller ? 1 : 0; });
  check(here == arenas.count(), "with one thread that thread works in all arenas");
}

void slabs_have_the_fluid() {
  programs::request r;
  const fluid::problem p(r);
  std::size_t next = 0;
  for (std::uint32_t part = 0; part < programs::part_count(); ++part) {
    const programs::interval own = p.share_of_rows(programs::part_count(), part);
    const homing::piece piece = p.rows().run_at(own.first, p.rows().size());
    check(own.first == next && piece.first == own.first && piece.last == own.last,
          "fluidanimate: rows of node " + std::to_string(part) + " are those of the domain");
    next = own.last;
  }
  check(next == p.rows().size(), "fluidanimate: all rows are dealt");
}

/// Several sweeps in one pass, several lattices: which values a plane has is seen by what its sweep changes.
struct jacobi_planes : jacobi_program::solver_in_pages {
  using solver_in_pages::solver_in_pages;
  void go_home() {
    p_.touch(0, p_.blocks().size());
    const homing::memory_range to = data()[1];
    const std::span<double> values(reinterpret_cast<double*>(to.address()), to.bytes() / sizeof(double));
    const std::vector<double> before(values.begin(), values.end());
    const homing::regular_distribution<1> homes = p_.homes_of_values();
    for (std::uint32_t part = 0; part < programs::part_count(); ++part) {
      const programs::interval blocks = programs::blocks_of(p_.planes(), part);
      const auto edge = [&](std::size_t block) {
        return programs::share_of(p_.planes(), programs::block_count(p_.planes()), block).first;
      };
      std::size_t at_home = 0;
      for (std::size_t plane = edge(blocks.first); plane < edge(blocks.last); ++plane) {
        p_.sweep_plane(0, plane);
        const auto changed = std::ranges::mismatch(values, before).in1;
        if (changed == values.end()) break;
        at_home += homing::to_index(homes.home_of(static_cast<std::size_t>(changed - values.begin()))) == part ? 1 : 0;
        std::ranges::copy(before, values.begin());
      }
      check(at_home == edge(blocks.last) - edge(blocks.first),
            "jacobi, several: planes of part " + std::to_string(part) + " are in its domain");
    }
  }
};

}  // namespace

int main() {
  if (programs::part_count() != 4) {
    std::fprintf(stderr, "checks: %u domains; expected 4: set HOMING_TOPOLOGY=\"node:4 core:1 pu:1\"\n",
                 programs::part_count());
    return 2;
  }
  const programs::request r;
  heat_program::solver<programs::serial_parts> heat(r);
  spoil("heat", heat, 0);
  transpose_program::solver<programs::serial_parts> transpose(r);
  spoil("transpose", transpose, 1);
  matmul_program::solver<programs::serial_parts> matmul(r);
  spoil("matmul", matmul, 2);
  plain_stream stream(r);
  for (std::size_t array = 0; array < 3; ++array) spoil("stream", stream, array);
  plain_jacobi jacobi(r);
  spoil("jacobi", jacobi, 0);
  work_where_it_is_done();
  wrong_warm_up();
  arenas_of_one_thread();
  slabs_have_the_fluid();
  programs::request several;
  several.size = 1;
  jacobi_planes(several).go_home();
  return failures == 0 ? 0 : 1;
}
