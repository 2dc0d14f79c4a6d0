#include "options.hpp"

#include <homing/topology.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "command_line.hpp"

namespace jacobi {
namespace {

constexpr extents paper_sites{600, 600, 2400};  // 13 GB in two arrays
constexpr extents paper_block{600, 10, 100};
constexpr double scale_default = 0.25;
constexpr int threads_max = 1024;
constexpr std::size_t extent_max = std::size_t{1} << 20;
constexpr std::size_t sites_max = std::size_t{1} << 44;
constexpr int count_max = 10'000;

constexpr const char* help = R"(usage: jacobi [options]
The six-point Jacobi solver of Wittmann and Hager: each line of their figure 3 is a variant.

  --variant NAME[,NAME...]  which; "all" (the default) runs them in turn; --list names them
  --scale S        all extents of lattice and blocks times S, 0 < S <= 1 (default 0.25; 1 takes 13 GB)
  --grid KxJxI     sites instead, fastest index first (the paper's: 600x600x2400)
  --block KxJxI    sites of a block instead (the paper's: 600x10x100)
  --threads N      threads (default: the CPUs that this process may use)
  --pin yes|no     bind each thread to a CPU (default yes)
  --sweeps N       sweeps in a repetition (default 4)
  --reps N         repetitions (default 3)
  --no-check       leave out the comparison with a serial run, bit by bit
  --label TEXT     of the lab's region, of which the first 63 characters count (default: the variant's name)
  --json           one JSON object a variant
  --list           the variants, and end
  --help           this, and end

Prints MLUP/s (million site updates a second) of the median repetition, the least and the most, and the share of
blocks that were processed at home: by a thread of the domain whose thread touched the block first. Of interleaved
pages, a block's home is that of its first page.
Exit: 0; 2 bad input; 3 a wrong result; 4 no memory.

  jacobi --scale 0.5 --variant queues-kji-static
  HOMING_TOPOLOGY="node:4 core:2 pu:1" jacobi --scale 0.05 --threads 8 --json
)";

extents three(bench::command_line& line) {
  const std::string_view all = line.value();
  std::string_view text = all;
  std::vector<std::size_t> parts;
  while (parts.size() < 4) {
    const std::size_t cross = std::min(text.find('x'), text.size());
    const auto value = line.number<std::size_t>(text.substr(0, cross));
    if (!value || *value < 1 || *value > extent_max) break;
    parts.push_back(*value);
    if (cross == text.size()) {
      if (parts.size() != 3) break;
      return {parts[0], parts[1], parts[2]};
    }
    text.remove_prefix(cross + 1);
  }
  line.refuse(all, "KxJxI, three numbers in 1.." + std::to_string(extent_max));
}

extents scaled(const extents& e, double by) {
  const auto times = [by](std::size_t n) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(static_cast<double>(n) * by)));
  };
  return {times(e.k), times(e.j), times(e.i)};
}

std::vector<const variant*> all_variants() {
  std::vector<const variant*> result;
  for (const variant& v : variants()) result.push_back(&v);
  return result;
}

std::vector<const variant*> named(bench::command_line& line) {
  const std::string_view list = line.value();
  if (list == "all") return all_variants();
  std::vector<const variant*> result;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string_view name = list.substr(at, comma - at);
    const variant* const found = find_variant(name);
    if (found == nullptr) line.refuse(line.quoted(name), "\"all\" or names of --list");
    result.push_back(found);
    at = comma + 1;
  }
  return result;
}

[[noreturn]] void list_and_end() {
  for (const variant& v : variants()) {
    std::printf("%-20s %s\n", std::string(v.name).c_str(), std::string(v.what).c_str());
  }
  std::exit(0);
}

}  // namespace

options parse(int argc, char** argv) {
  options result{};
  result.wanted = all_variants();
  result.threads = static_cast<int>(std::min<unsigned>(homing::topology::current().default_concurrency(), threads_max));
  double scale = scale_default;
  std::optional<extents> sites;
  std::optional<extents> block;
  bench::command_line line("jacobi", argc, argv);
  while (const auto option = line.next()) {
    if (*option == "--help") {
      std::fputs(help, stdout);
      std::exit(0);
    } else if (*option == "--list") {
      list_and_end();
    } else if (*option == "--variant") {
      result.wanted = named(line);
    } else if (*option == "--scale") {
      const std::string_view text = line.value();
      const auto given = line.number<double>(text);
      if (!given || !(*given > 0 && *given <= 1)) line.refuse(text, "a number above 0, up to 1");
      scale = *given;
    } else if (*option == "--grid") {
      sites = three(line);
    } else if (*option == "--block") {
      block = three(line);
    } else if (*option == "--threads") {
      result.threads = line.count(threads_max);
    } else if (*option == "--sweeps") {
      result.sweeps = line.count(count_max);
    } else if (*option == "--reps") {
      result.repetitions = line.count(count_max);
    } else if (*option == "--pin") {
      const std::string_view text = line.value();
      if (text != "yes" && text != "no") line.refuse(text, "yes or no");
      result.pin = text == "yes";
    } else if (*option == "--no-check") {
      result.check = false;
    } else if (*option == "--label") {
      result.label = line.value();
      if (result.label.empty()) line.refuse(result.label, "a text");
    } else if (*option == "--json") {
      result.json = true;
    } else {
      line.refuse_option();
    }
  }
  result.sites = sites.value_or(scaled(paper_sites, scale));
  const extents wanted = block.value_or(scaled(paper_block, scale));
  // Extents are below 2^20 each, so that the product fits.
  if (result.sites.sites() > sites_max) {
    line.refuse(std::string("--grid"), "at most " + std::to_string(sites_max) + " sites");
  }
  result.block = {std::min(wanted.k, result.sites.k), std::min(wanted.j, result.sites.j),
                  std::min(wanted.i, result.sites.i)};
  return result;
}

}  // namespace jacobi
