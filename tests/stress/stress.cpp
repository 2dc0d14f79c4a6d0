// The driver: runs rounds of random scenarios until the time is up, each from a seed of its own.
//
// Property: whatever is nested in whatever, every task runs exactly once, every call returns only
// when its tasks have ended, and nothing hangs. Method: random programs built from a seed, with
// books on every item, under a watchdog.
#include <tbb/global_control.h>
#include <tbb/version.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "common/scenario.hpp"

namespace {

struct settings {
  std::uint64_t seed = 0;
  bool seed_given = false;
  double seconds = 10;
  int rounds = 0;  // 0: as many as the time allows
  int threads = 16;
  int watchdog_s = 60;
  bool list = false;
  bool verbose = false;
  stress::rules rules = stress::rules::strict;
  std::vector<const stress::scenario*> chosen;
};

[[noreturn]] void usage(const char* problem) {
  std::fprintf(stderr,
               "stress: %s\n"
               "usage: stress [--seed N] [--seconds S] [--rounds N] [--threads N]\n"
               "              [--scenario NAME,NAME...] [--watchdog SECONDS] [--verbose] [--list]\n"
               "              [--stock]   leave out what stock oneTBB 2023.2.0 cannot do\n"
               "A scenario may be excluded by -NAME.\n",
               problem);
  std::exit(2);
}

double number(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || value < 0) usage((std::string("not a number: ") + text).c_str());
  return value;
}

const stress::scenario* find_scenario(const std::string& name) {
  for (const stress::scenario& s : stress::all_scenarios()) {
    if (name == s.name) return &s;
  }
  usage(("no scenario " + name + "; see --list").c_str());
}

void choose(settings& s, const std::string& list) {
  std::vector<const stress::scenario*> excluded;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    if (!name.empty() && name[0] == '-') {
      excluded.push_back(find_scenario(name.substr(1)));
    } else if (!name.empty()) {
      s.chosen.push_back(find_scenario(name));
    }
    begin = end + 1;
  }
  if (!s.chosen.empty()) return;
  for (const stress::scenario& candidate : stress::all_scenarios()) {
    bool keep = s.rules == stress::rules::strict || candidate.is_stock_able;
    for (const stress::scenario* e : excluded) keep = keep && e != &candidate;
    if (keep) s.chosen.push_back(&candidate);
  }
}

settings parse(int count, char** arguments) {
  settings s;
  std::string names;
  for (int i = 1; i < count; ++i) {
    const std::string option = arguments[i];
    if (option == "--list") {
      s.list = true;
      continue;
    }
    if (option == "--verbose") {
      s.verbose = true;
      continue;
    }
    if (option == "--stock") {
      s.rules = stress::rules::stock;
      continue;
    }
    if (i + 1 == count) usage(("unknown option, or its value is missing: " + option).c_str());
    const char* value = arguments[++i];
    if (option == "--seed") {
      char* end = nullptr;
      s.seed = std::strtoull(value, &end, 0);
      if (end == value || *end != '\0') usage("--seed wants an integer");
      s.seed_given = true;
    } else if (option == "--seconds") {
      s.seconds = number(value);
    } else if (option == "--rounds") {
      s.rounds = static_cast<int>(number(value));
    } else if (option == "--threads") {
      s.threads = static_cast<int>(number(value));
      if (s.threads < 2) usage("--threads wants 2 or more");
    } else if (option == "--watchdog") {
      s.watchdog_s = static_cast<int>(number(value));
    } else if (option == "--scenario") {
      names = value;
    } else {
      usage(("unknown option " + option).c_str());
    }
  }
  choose(s, names);
  if (!s.seed_given) s.seed = std::random_device{}();
  return s;
}

}  // namespace

int main(int count, char** arguments) {
  const settings s = parse(count, arguments);
  if (s.list) {
    for (const stress::scenario& each : stress::all_scenarios()) {
      std::printf("%-12s %s\n", each.name, each.property);
    }
    return 0;
  }
  std::printf("stress: %s, interface %d, seed 0x%llx, %d threads\n", TBB_runtime_version(),
              TBB_runtime_interface_version(), static_cast<unsigned long long>(s.seed), s.threads);
  std::fflush(stdout);

  const stress::watchdog guard(s.watchdog_s);
  const tbb::global_control parallelism(tbb::global_control::max_allowed_parallelism,
                                        static_cast<std::size_t>(s.threads));
  using clock = std::chrono::steady_clock;
  const clock::time_point end = clock::now() + std::chrono::milliseconds(static_cast<long>(s.seconds * 1000));
  int rounds = 0;
  while (s.rounds > 0 ? rounds < s.rounds : clock::now() < end) {
    // The seed of a round is the whole story: `--seed` with it and `--rounds 1` replays the round.
    const stress::round r{s.seed + static_cast<std::uint64_t>(rounds), s.threads, s.rules};
    const std::size_t index = stress::mix(r.seed) % s.chosen.size();
    const stress::scenario& scenario = *s.chosen[index];
    stress::set_current_round(scenario.name, r.seed, s.threads);
    const clock::time_point start = clock::now();
    scenario.run(r);
    ++rounds;
    if (s.verbose) {
      const std::chrono::duration<double, std::milli> took = clock::now() - start;
      std::printf("%-12s 0x%llx %.0f ms\n", scenario.name, static_cast<unsigned long long>(r.seed), took.count());
      std::fflush(stdout);
    }
  }
  std::printf("stress: %d rounds passed, %llu steps\n", rounds,
              static_cast<unsigned long long>(stress::progress_count()));
  return 0;
}
