#include "options.hpp"

#include <homing/topology.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "command_line.hpp"

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

/// The option's value as one of these by its name.
template <class Enum>
Enum one_of(bench::command_line& line, std::initializer_list<Enum> all) {
  const std::string_view text = line.value();
  std::string names;
  for (const Enum e : all) {
    if (name_of(e) == text) return e;
    names += (names.empty() ? "" : " or ") + std::string(name_of(e));
  }
  line.refuse(text, names);
}

}  // namespace

std::string_view name_of(schedule s) noexcept {
  switch (s) {
    case schedule::none:
      return "none";
    case schedule::affinity:
      return "affinity";
    case schedule::distribution:
      break;
  }
  return "distribution";
}

std::string_view name_of(placing p) noexcept {
  switch (p) {
    case placing::first_touch:
      return "first-touch";
    case placing::interleaved:
      return "interleaved";
    case placing::enforced:
      break;
  }
  return "enforced";
}

options parse(int argc, char** argv) {
  options result;
  result.threads = static_cast<int>(homing::topology::current().default_concurrency());
  bench::command_line line("vector_update", argc, argv);
  while (const auto option = line.next()) {
    if (*option == "--help") {
      std::fputs(help, stdout);
      std::exit(0);
    } else if (*option == "--schedule") {
      result.work = one_of(line, {schedule::none, schedule::affinity, schedule::distribution});
    } else if (*option == "--pages") {
      result.pages = one_of(line, {placing::first_touch, placing::interleaved, placing::enforced});
    } else if (*option == "--elements") {
      result.elements = line.count(elements_max);
    } else if (*option == "--loops") {
      result.loops = line.count(loops_max);
    } else if (*option == "--threads") {
      result.threads = line.count(threads_max);
    } else if (*option == "--json") {
      result.json = true;
    } else {
      line.refuse_option();
    }
  }
  return result;
}

}  // namespace vector_update
