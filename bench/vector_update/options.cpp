#include "options.hpp"

#include <homing/topology.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace vector_update {
namespace {

constexpr const char* help = R"(usage: vector_update [options]
y += a * x, over and over, with the scenarios of section 5.2 of the TBB-NUMA paper.

  --schedule S    none (oneTBB's default), affinity (affinity_partitioner), distribution (ours: blocks); default distribution
  --pages P       first-touch, interleaved, enforced (as the distribution says); default enforced
  --elements N    of x and of y, 8 bytes each (default 1048576)
  --loops N       how often all is updated (default 50)
  --threads N     default: the CPUs that this process may use
  --json          one JSON object
  --help          this, and end

The loops are the lab's region "SCHEDULE, PAGES" (homing lab run). On stock oneTBB a distribution means nothing.
Exit: 0; 2 bad input; 3 a wrong result; 4 no memory, or pages that could not be placed.

  homing lab run --cache-scale 16 --thp never -- vector_update --schedule affinity --pages interleaved
)";

constexpr int threads_max = 1024;
constexpr int loops_max = 1'000'000;
constexpr std::size_t elements_max = std::size_t{1} << 40;

[[noreturn]] void refuse(const std::string& what, const std::string& expected) {
  std::fprintf(stderr, "vector_update: %s: expected %s; see --help\n", what.c_str(), expected.c_str());
  std::exit(2);
}

template <class Number>
Number number(std::string_view option, std::string_view text, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > most) {
    refuse(std::string(option) + " " + std::string(text), "a number in 1.." + std::to_string(most));
  }
  return value;
}

template <class Enum>
Enum one_of(std::string_view option, std::string_view text, std::initializer_list<Enum> all) {
  std::string names;
  for (const Enum e : all) {
    if (name_of(e) == text) return e;
    names += (names.empty() ? "" : " or ") + std::string(name_of(e));
  }
  refuse(std::string(option) + " " + std::string(text), names);
}

}  // namespace

std::string_view name_of(schedule s) noexcept {
  switch (s) {
    case schedule::none: return "none";
    case schedule::affinity: return "affinity";
    case schedule::distribution: break;
  }
  return "distribution";
}

std::string_view name_of(placing p) noexcept {
  switch (p) {
    case placing::first_touch: return "first-touch";
    case placing::interleaved: return "interleaved";
    case placing::enforced: break;
  }
  return "enforced";
}

options parse(int argc, char** argv) {
  options result;
  result.threads = static_cast<int>(homing::topology::current().default_concurrency());
  for (int at = 1; at < argc; ++at) {
    const std::string_view option = argv[at];
    const auto value = [&]() -> std::string_view {
      if (at + 1 == argc) refuse(std::string(option), "a value after it");
      return argv[++at];
    };
    if (option == "--help") {
      std::fputs(help, stdout);
      std::exit(0);
    } else if (option == "--schedule") {
      result.work = one_of(option, value(), {schedule::none, schedule::affinity, schedule::distribution});
    } else if (option == "--pages") {
      result.pages = one_of(option, value(), {placing::first_touch, placing::interleaved, placing::enforced});
    } else if (option == "--elements") {
      result.elements = number(option, value(), elements_max);
    } else if (option == "--loops") {
      result.loops = number(option, value(), loops_max);
    } else if (option == "--threads") {
      result.threads = number(option, value(), threads_max);
    } else if (option == "--json") {
      result.json = true;
    } else {
      refuse("\"" + std::string(option) + "\"", "an option of --help");
    }
  }
  return result;
}

}  // namespace vector_update
