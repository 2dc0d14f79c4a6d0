#include "options.hpp"

#include <homing/topology.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../bench/common/command_line.hpp"
#include "surroundings.hpp"

namespace programs {
namespace {

constexpr int threads_max = 1024;
constexpr int count_max = 10'000;

std::string text(std::string_view s) { return std::string(s); }

template <class List>
std::string names_of(const List& list) {
  std::string names;
  for (const auto& entry : list) names += (names.empty() ? "" : ", ") + text(entry.name);
  return names;
}

void print_help(const description& program, std::span<const variant> variants) {
  std::printf("usage: %s [options]\n%s\n\n", text(program.name).c_str(), text(program.what).c_str());
  std::puts(
      "  --variant NAME[,NAME...]  which; \"all\" (the default) runs them in turn, each in a process of its own\n"
      "  --size NAME       how large (default: the first below)\n"
      "  --threads N       threads (default: the CPUs that this process may use)\n"
      "  --repeat N        timed repetitions (default 3)\n"
      "  --warm-up N       repetitions before them (default 0)\n"
      "  --seed N          of what is drawn at random (default 1)\n"
      "  --check           check each result\n"
      "  --placement P     pages that nothing else places: first-touch (the default), interleave, node:N\n"
      "  --cpus C          all (the default), or those of node:N\n"
      "  --contender C     what contends for threads: WHERE:WHAT:THREADS[@NODE,...]; WHERE arena, openmp, process;\n"
      "                    WHAT compute, stream, bursts; THREADS a number or all; NODE by Linux's number\n"
      "  --label TEXT      of the lab's region (default: \"program, variant\")\n"
      "  --json | --csv    a line a variant in that form\n"
      "  --list            the variants, and end\n"
      "  --help            this, and end\n\n"
      "variants:");
  for (const variant& v : variants) std::printf("  %-17s %s\n", text(v.name).c_str(), text(v.what).c_str());
  std::puts("sizes:");
  for (const size_name& s : program.sizes) std::printf("  %-17s %s\n", text(s.name).c_str(), text(s.what).c_str());
  std::puts(
      "\nPrints the median time of a repetition, the least and the most, the rate, the share of the work that was done "
      "at\n"
      "home (in the domain that the data's distribution names), the pages of the data on each node, and what it took "
      "to\n"
      "move them. Exit: 0; 2 bad input; 3 a wrong result; 4 no memory; 1 anything else.");
}

std::vector<const variant*> named(bench::command_line& line, std::span<const variant> variants) {
  const std::string_view list = line.value();
  std::vector<const variant*> result;
  for (std::size_t at = 0; at <= list.size() && list != "all";) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string_view name = list.substr(at, comma - at);
    const auto found = std::ranges::find(variants, name, &variant::name);
    if (found == variants.end()) line.refuse(line.quoted(name), "\"all\" or variants out of: " + names_of(variants));
    result.push_back(&*found);
    at = comma + 1;
  }
  return result;
}

std::string out_of(const char* what, const std::vector<int>& nodes) {
  std::string text = what;
  for (const int n : nodes) text += (n == nodes.front() ? ": " : ", ") + std::to_string(n);
  return nodes.empty() ? text + ", and there is none" : text;
}

// The N of node:N.
int node_number(bench::command_line& line, std::string_view text, const char* others) {
  constexpr int nodes_max = 1024;
  const auto given = text.starts_with("node:") ? line.number<int>(text.substr(5)) : std::nullopt;
  if (!given || *given < 0 || *given >= nodes_max) line.refuse(text, std::string(others) + " or node:N");
  return *given;
}

void expect_cpus(const bench::command_line& line, std::string_view text, int node) {
  const std::vector<int> nodes = nodes_with_cpus();
  if (std::ranges::find(nodes, node) == nodes.end()) {
    line.refuse(text, out_of("a node of whose CPUs this process may use some", nodes));
  }
}

// The options about what the program finds around it; false if it is none of them.
bool read_surroundings(bench::command_line& line, std::string_view option, request& what) {
  if (option == "--placement") {
    const std::string_view text = line.value();
    what.around.pages = text == "first-touch"  ? page_policy::first_touch
                        : text == "interleave" ? page_policy::interleave
                                               : page_policy::one_node;
    if (what.around.pages == page_policy::one_node) {
      what.around.memory_node = node_number(line, text, "first-touch, interleave");
      const std::vector<int> nodes = nodes_with_memory();
      if (std::ranges::find(nodes, what.around.memory_node) == nodes.end()) {
        line.refuse(text, out_of("a node that has memory here", nodes));
      }
    }
  } else if (option == "--cpus") {
    const std::string_view text = line.value();
    what.around.cpu_node = text == "all" ? std::nullopt : std::optional(node_number(line, text, "all"));
    if (what.around.cpu_node) expect_cpus(line, text, *what.around.cpu_node);
  } else if (option == "--contender") {
    const std::string_view text = line.value();
    std::string expected;
    const auto given = contention::parse(text, expected);
    if (!given) line.refuse(text, expected);
    for (const int node : given->domains) expect_cpus(line, text, node);
    what.against = *given;
  } else if (option == "--label") {
    const std::string_view text = line.value();
    const bool printable = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    if (text.empty() || text.size() > HOMING_LAB_LABEL_MAX || !printable) {
      line.refuse(text, "1 to " + std::to_string(HOMING_LAB_LABEL_MAX) + " printable characters");
    }
    what.label = text;
  } else {
    return false;
  }
  return true;
}

}  // namespace

options parse(int argc, char** argv, const description& program, std::span<const variant> variants) {
  options result;
  request& what = result.what;
  what.threads = static_cast<int>(std::min<unsigned>(homing::topology::current().default_concurrency(), threads_max));
  const std::string name = text(program.name);
  bench::command_line line(name.c_str(), argc, argv);
  while (const auto option = line.next()) {
    if (*option == "--help") {
      print_help(program, variants);
      line.end();
    } else if (*option == "--list") {
      for (const variant& v : variants) std::puts(text(v.name).c_str());
      line.end();
    } else if (*option == "--variant") {
      result.wanted = named(line, variants);
    } else if (*option == "--size") {
      const std::string_view size = line.value();
      const auto found = std::ranges::find(program.sizes, size, &size_name::name);
      if (found == program.sizes.end()) line.refuse(size, "one of the sizes: " + names_of(program.sizes));
      what.size = static_cast<std::size_t>(found - program.sizes.begin());
    } else if (*option == "--threads") {
      what.threads = line.count(threads_max);
    } else if (*option == "--repeat") {
      what.repetitions = line.count(count_max);
    } else if (*option == "--warm-up") {
      what.warm_ups = line.count(count_max, 0);
    } else if (*option == "--seed") {
      const std::string_view seed = line.value();
      const auto given = line.number<std::uint64_t>(seed);
      if (!given) line.refuse(seed, "a number in 0.." + std::to_string(std::numeric_limits<std::uint64_t>::max()));
      what.seed = *given;
    } else if (*option == "--check") {
      what.check = true;
    } else if (*option == "--json" || *option == "--csv") {
      const output form = *option == "--json" ? output::json : output::csv;
      if (result.form != output::table && result.form != form)
        line.refuse(std::string("--json and --csv"), "one of them");
      result.form = form;
    } else if (!read_surroundings(line, *option, what)) {
      line.refuse_option();
    }
  }
  if (what.against.where == contention::place::arena && what.against.threads > what.threads) {
    line.refuse("--contender: an arena of " + std::to_string(what.against.threads) + " threads",
                std::to_string(what.threads) + " at most, as --threads says: TBB has no more in this process");
  }
  if (result.wanted.empty()) {
    for (const variant& v : variants) result.wanted.push_back(&v);
  }
  return result;
}

}  // namespace programs
