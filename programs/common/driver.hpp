// The one driver of all programs: the command line, the repetitions, and the statistics that are the same everywhere.
#pragma once

#include <homing/lab.hpp>
#include <homing/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../bench/common/stopwatch.hpp"
#include "at_home.hpp"
#include "contender.hpp"
#include "placing.hpp"
#include "surroundings.hpp"

namespace programs {

/// A size that a program can be run at; the first of a program is what `make programs` runs.
struct size_name {
  std::string_view name;
  std::string_view what;
};

/// What a solver is asked to make and to do.
struct request {
  std::size_t size = 0;  ///< its place in the program's list
  std::uint64_t seed = 1;
  int threads = 1;
  int repetitions = 3;
  int warm_ups = 0;
  bool check = false;
  std::string label;  ///< of the lab's region; empty: "program, variant"
  contention against;
  contender* beside = nullptr;  ///< begins before the first repetition and ends after the last
  surroundings around;
};

struct outcome {
  std::vector<double> ms;  ///< of each repetition
  double amount = 0;       ///< of work in one, in the program's unit
  work_done work;          ///< of all repetitions; nothing if the program has no homes
  homing::page_census pages;
  migration moved;
  std::string wrong;            ///< empty, or what is wrong with the result
  std::string note;             ///< what the program has to say of its result
  std::uint64_t contended = 0;  ///< pieces of work of the contender, while the program was measured
  int contender_threads = 0;    ///< how many threads it had
};

struct variant {
  std::string_view name;
  std::string_view what;
  outcome (*measure)(const request&);
};

struct description {
  std::string_view name;
  std::string_view what;
  std::string_view unit;  ///< a rate's: so many a second
  std::span<const size_name> sizes;
};

/// Pages of several ranges together.
[[nodiscard]] homing::page_census census_of(std::span<const homing::memory_range> data);

/// Runs what a variant has made, and checks each repetition if that was asked for. After a wrong result one repetition
/// is timed, if none was, and no more: a line has a time in any case.
///
/// A solver is made of a request, untimed. reset() comes before each run(), which is timed; wrong() is empty if the
/// result is right; data() is what its pages are counted of, amount() its work. It may have a remark, note(), and what
/// was moved to its home, moved().
template <class Solver>
void repeat(Solver& solver, const request& r, outcome& result) {
  r.beside->begin();
  for (int i = -r.warm_ups; i < r.repetitions && (result.wrong.empty() || result.ms.empty()); ++i) {
    solver.reset();
    if (i == 0) forget_work();
    const work_done before = counted_work();
    double ms = 0;
    {
      const homing::lab::region counted(i < 0 ? "warm-up" : r.label);
      const std::int64_t begun_ns = bench::wall_ns();
      solver.run();
      ms = static_cast<double>(bench::wall_ns() - begun_ns) / 1e6;
    }
    if (i >= 0) {
      const work_done after = counted_work();
      result.ms.push_back(ms);
      result.work.at_home += after.at_home - before.at_home;
      result.work.away += after.away - before.away;
    }
    if (r.check && result.wrong.empty()) result.wrong = solver.wrong();
  }
  r.beside->end();
  result.contended = r.beside->pieces();
  result.contender_threads = r.beside->threads();
  const std::vector<homing::memory_range> data = solver.data();
  result.pages = census_of(data);
  result.amount = solver.amount();
  if constexpr (requires { solver.note(); }) result.note = solver.note();
  if constexpr (requires { solver.moved(); }) result.moved = solver.moved();
}

/// Makes a solver where `Threads` lets programs run, and repeats it.
template <class Solver, class Threads>
outcome measure(const request& r) {
  Threads threads(r.threads);
  outcome result;
  threads.enter([&] {
    Solver solver(r);
    repeat(solver, r, result);
  });
  return result;
}

/// Reads the command line, runs the variants (each in a process of its own if there are several), prints a line for
/// each. Returns the exit status: 0; 2 bad input; 3 a wrong result; 4 no memory; 1 anything else.
[[nodiscard]] int run_program(int argc, char** argv, const description& program, std::span<const variant> variants);

}  // namespace programs
