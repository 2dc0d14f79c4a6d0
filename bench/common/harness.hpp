// What every benchmark program shares: its command line, its arena, warm-up, repetitions, self-check.
//
// A program is a main() that makes a session, calls measure() once per case, and returns end(). bench/run.py reads the
// one-line JSON objects that --json prints; a case is announced before it runs, so that a crash or a
// hang can be laid at its door.
#pragma once

#include <dlfcn.h>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "all_threads.hpp"
#include "command_line.hpp"
#include "stopwatch.hpp"
#include "work.hpp"

namespace bench {

/// How the runner should treat a case.
enum class weight {
  usual,  ///< many short repetitions
  heavy,  ///< seconds each: a process of its own, few repetitions, a time limit
};

/// What a case's figure means.
enum class figure {
  wall,  ///< wall time counts for the bar, CPU time is shown beside it
  cpu,   ///< only CPU time says something (the wall time is a given)
};

/// What is out of the ordinary about a case.
struct traits {
  weight load = weight::usual;
  figure kind = figure::wall;
  std::uint64_t iterations_max = UINT64_MAX;  ///< where the time of one varies too much to trust
};

/// One run of one program: options, the arena of N threads that all cases run in, and the printed results.
///
/// Threads: main thread only. Errors: a wrong option or a wrong result ends the process (status 2 or 3).
class session {
 public:
  session(int argc, char** argv, std::string program)
      : program_(std::move(program)),
        threads_(parse(argc, argv)),
        limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads_)),
        arena_(threads_) {
    if (!list_) print_header();
  }

  [[nodiscard]] int threads() const noexcept { return threads_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Runs one case inside the arena and prints its repetitions.
  ///
  /// `body(iterations)` is timed as a whole; `body(iterations, stopwatch&)` times what it chooses.
  /// Iterations are given by the runner (--cases name=n), else found so that a repetition takes
  /// about 10 ms. Times printed are those of all iterations of a repetition together.
  template <typename Body>
  void measure(const std::string& name, Body body, traits special = {}) {
    const std::string full = program_ + "/" + name;
    if (list_) {
      std::printf("{\"case\":\"%s\",\"heavy\":%s,\"figure\":\"%s\"}\n", full.c_str(),
                  special.load == weight::heavy ? "true" : "false", special.kind == figure::cpu ? "cpu" : "wall");
      return;
    }
    std::uint64_t iterations = 0;
    if (!cases_.empty()) {
      const auto wanted = cases_.find(full);
      if (wanted == cases_.end()) return;
      iterations = wanted->second.iterations;
      wanted->second.found = true;
    }
    current_ = full;
    if (json_) {
      std::printf("{\"start\":\"%s\"}\n", full.c_str());
      flush_output();
    }
    std::vector<stopwatch> samples;
    arena_.execute([&] {
      // How fast a library makes its threads, or when, is the ramp's figure: all are there before anything is timed.
      // Where some never come, as in an arena whose thieves stay in their domain, it goes on without them.
      if (!std::exchange(threads_called_, true)) (void)until_all_work(threads_, longest_wait_for_threads);
      if (special.load == weight::heavy) {
        iterations = 1;
      } else if (iterations == 0) {
        iterations = std::min(calibrate(body, special.iterations_max), special.iterations_max);
      } else {
        (void)once(body, iterations);  // the warm-up
      }
      for (int repetition = 0; repetition < repetitions_; ++repetition) {
        samples.push_back(once(body, iterations));
      }
    });
    print_case(full, iterations, samples);
  }

  /// The status to end with: 0; 1 if what was printed could not be written; 2 if a wanted case was never measured.
  [[nodiscard]] int end() const {
    std::string missing;
    for (const auto& [name, wanted] : cases_) {
      if (!list_ && !wanted.found) missing += (missing.empty() ? "" : ", ") + name;
    }
    if (!missing.empty()) {
      std::fprintf(stderr, "%s: --cases: %s: expected cases that --list names\n", program_.c_str(), missing.c_str());
    }
    return status_of_output(program_.c_str(), missing.empty() ? 0 : 2);
  }

  /// Ends the process with status 3 and a message if a result is wrong.
  void expect(bool right, const char* what) const {
    if (right) return;
    std::fflush(stdout);
    std::fprintf(stderr, "wrong result in %s: %s\n", current_.c_str(), what);
    std::_Exit(3);
  }

 private:
  template <typename Body>
  static stopwatch once(Body& body, std::uint64_t iterations) {
    stopwatch watch;
    if constexpr (std::is_invocable_v<Body&, std::uint64_t, stopwatch&>) {
      body(iterations, watch);
    } else {
      watch.start();
      body(iterations);
      watch.stop();
    }
    return watch;
  }

  /// Iterations that fill about target_ns_, by wall time; also serves as the warm-up.
  template <typename Body>
  static std::uint64_t calibrate(Body& body, std::uint64_t iterations_max) {
    std::uint64_t iterations = 1;
    for (;;) {
      const std::int64_t begin_ns = wall_ns();
      (void)once(body, iterations);
      const std::int64_t elapsed_ns = std::max<std::int64_t>(wall_ns() - begin_ns, 1);
      if (elapsed_ns > 2 * target_ns) {  // contention may grow faster than the iterations
        const std::int64_t excess = elapsed_ns / target_ns;
        return std::max<std::uint64_t>(iterations / static_cast<std::uint64_t>(excess), 1);
      }
      if (elapsed_ns >= target_ns / 2 || iterations >= iterations_max) return iterations;
      const std::int64_t factor = std::clamp<std::int64_t>(target_ns / elapsed_ns, 2, 16);
      iterations *= static_cast<std::uint64_t>(factor);
    }
  }

  void print_header() const {
    Dl_info library{};
    dladdr(reinterpret_cast<void*>(&TBB_runtime_version), &library);
    if (json_) {
      std::printf(
          "{\"program\":\"%s\",\"library\":\"%s\",\"version\":\"%s\",\"interface\":%d,"
          "\"threads\":%d,\"seed\":%llu}\n",
          program_.c_str(), library.dli_fname, TBB_runtime_version(), TBB_runtime_interface_version(), threads_,
          static_cast<unsigned long long>(seed_));
    } else {
      std::printf("%s: %d threads, %s (%s)\n", program_.c_str(), threads_, library.dli_fname, TBB_runtime_version());
    }
    flush_output();
  }

  void print_case(const std::string& full, std::uint64_t iterations, const std::vector<stopwatch>& samples) const {
    const auto count = static_cast<unsigned long long>(iterations);
    if (json_) {
      std::printf("{\"case\":\"%s\",\"iterations\":%llu,\"wall_ns\":[", full.c_str(), count);
      print_list(samples, &stopwatch::wall_total_ns);
      std::printf("],\"cpu_ns\":[");
      print_list(samples, &stopwatch::cpu_total_ns);
      std::printf("]}\n");
    } else {
      std::printf("  %s, %llu iterations\n", full.c_str(), count);
      for (const stopwatch& sample : samples) {
        std::printf("    wall %12.1f us   cpu %12.1f us\n", static_cast<double>(sample.wall_total_ns()) / 1e3,
                    static_cast<double>(sample.cpu_total_ns()) / 1e3);
      }
    }
    flush_output();
  }

  static void print_list(const std::vector<stopwatch>& samples, std::int64_t (stopwatch::*time)() const noexcept) {
    const char* separator = "";
    for (const stopwatch& sample : samples) {
      std::printf("%s%lld", separator, static_cast<long long>((sample.*time)()));
      separator = ",";
    }
  }

  [[noreturn]] static void usage(const char* program, std::string_view wrong, const std::string& expected) {
    std::fprintf(stderr,
                 "%s: \"%.*s\": %s\n"
                 "usage: %s [--threads N] [--reps R] [--seed S] [--json] [--list]\n"
                 "          [--cases NAME[=ITERATIONS],...]\n",
                 program, static_cast<int>(wrong.size()), wrong.data(), expected.c_str(), program);
    std::exit(2);
  }

  template <typename Number>
  static Number number(const char* program, std::string_view text, Number least,
                       Number most = std::numeric_limits<Number>::max()) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
      usage(program, text, "expected a number in " + std::to_string(least) + ".." + std::to_string(most));
    }
    return value;
  }

  /// Reads the options; returns the number of threads, which the members after it need.
  int parse(int argc, char** argv) {
    int threads = 2;
    for (int index = 1; index < argc; ++index) {
      const std::string_view option = argv[index];
      const auto value = [&]() -> std::string_view {
        if (index + 1 == argc) usage(argv[0], option, "expected a value after it");
        return argv[++index];
      };
      if (option == "--json") {
        json_ = true;
      } else if (option == "--list") {
        list_ = true;
      } else if (option == "--threads") {
        threads = number<int>(argv[0], value(), 1, threads_max);
      } else if (option == "--reps") {
        repetitions_ = number<int>(argv[0], value(), 0);
      } else if (option == "--seed") {
        seed_ = number<std::uint64_t>(argv[0], value(), 0);
      } else if (option == "--cases") {
        parse_cases(argv[0], value());
      } else {
        usage(argv[0], option, "expected one of these options");
      }
    }
    return threads;
  }

  void parse_cases(const char* program, std::string_view list) {
    while (!list.empty()) {
      const std::string_view item = list.substr(0, list.find(','));
      list.remove_prefix(std::min(list.size(), item.size() + 1));
      const std::size_t equals = item.find('=');
      const bool given = equals != std::string_view::npos;
      cases_[std::string(item.substr(0, equals))].iterations =
          given ? number<std::uint64_t>(program, item.substr(equals + 1), 1) : 0;
    }
  }

  /// A repetition is long against the clocks' grain and short against the machine's drift.
  static constexpr std::int64_t target_ns = 10'000'000;

  struct wanted_case {
    std::uint64_t iterations = 0;  ///< 0: calibrate
    bool found = false;
  };
  static constexpr int threads_max = 1024;  // as in programs/
  static constexpr std::chrono::milliseconds longest_wait_for_threads{100};

  bool threads_called_ = false;
  bool json_ = false;
  bool list_ = false;
  int repetitions_ = 5;
  std::uint64_t seed_ = 1;
  std::map<std::string, wanted_case> cases_;
  std::string current_;
  std::string program_;
  int threads_;
  tbb::global_control limit_;
  tbb::task_arena arena_;
};

}  // namespace bench
