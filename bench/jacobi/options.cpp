#include "options.hpp"

#include <homing/topology.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

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

[[noreturn]] void refuse(const std::string& what, const std::string& expected) {
  std::fprintf(stderr, "jacobi: %s: expected %s; see --help\n", what.c_str(), expected.c_str());
  std::exit(2);
}

std::string quoted(std::string_view text) {
  std::string result(1, '"');
  result.append(text);
  result.push_back('"');
  return result;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

int count(std::string_view option, std::string_view text, int most) {
  const auto value = number<int>(text);
  if (!value || *value < 1 || *value > most) {
    refuse(std::string(option) + " " + std::string(text), "a number in 1.." + std::to_string(most));
  }
  return *value;
}

extents three(std::string_view option, std::string_view text) {
  const std::string all(text);
  std::vector<std::size_t> parts;
  while (parts.size() < 4) {
    const std::size_t cross = std::min(text.find('x'), text.size());
    const auto value = number<std::size_t>(text.substr(0, cross));
    if (!value || *value < 1 || *value > extent_max) break;
    parts.push_back(*value);
    if (cross == text.size()) {
      if (parts.size() != 3) break;
      return {parts[0], parts[1], parts[2]};
    }
    text.remove_prefix(cross + 1);
  }
  refuse(std::string(option) + " " + all, "KxJxI, three numbers in 1.." + std::to_string(extent_max));
}

extents scaled(const extents& e, double by) {
  const auto times = [by](std::size_t n) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(static_cast<double>(n) * by)));
  };
  return {times(e.k), times(e.j), times(e.i)};
}

std::vector<const variant*> named(std::string_view list) {
  std::vector<const variant*> result;
  if (list == "all") {
    for (const variant& v : variants()) result.push_back(&v);
    return result;
  }
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string_view name = list.substr(at, comma - at);
    const variant* const found = find_variant(name);
    if (found == nullptr) refuse("--variant " + quoted(name), "\"all\" or names of --list");
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
  result.wanted = named("all");
  result.threads = static_cast<int>(std::min<unsigned>(homing::topology::current().default_concurrency(), threads_max));
  double scale = scale_default;
  std::optional<extents> sites;
  std::optional<extents> block;
  for (int at = 1; at < argc; ++at) {
    const std::string_view option = argv[at];
    const auto value = [&]() -> std::string_view {
      if (at + 1 == argc) refuse(std::string(option), "a value after it");
      return argv[++at];
    };
    if (option == "--help") {
      std::fputs(help, stdout);
      std::exit(0);
    } else if (option == "--list") {
      list_and_end();
    } else if (option == "--variant") {
      result.wanted = named(value());
    } else if (option == "--scale") {
      const std::string_view text = value();
      const auto given = number<double>(text);
      if (!given || !(*given > 0 && *given <= 1)) refuse("--scale " + std::string(text), "a number above 0, up to 1");
      scale = *given;
    } else if (option == "--grid") {
      sites = three(option, value());
    } else if (option == "--block") {
      block = three(option, value());
    } else if (option == "--threads") {
      result.threads = count(option, value(), threads_max);
    } else if (option == "--sweeps") {
      result.sweeps = count(option, value(), count_max);
    } else if (option == "--reps") {
      result.repetitions = count(option, value(), count_max);
    } else if (option == "--pin") {
      const std::string_view text = value();
      if (text != "yes" && text != "no") refuse("--pin " + std::string(text), "yes or no");
      result.pin = text == "yes";
    } else if (option == "--no-check") {
      result.check = false;
    } else if (option == "--json") {
      result.json = true;
    } else {
      refuse(quoted(option), "an option of --help");
    }
  }
  result.sites = sites.value_or(scaled(paper_sites, scale));
  const extents wanted = block.value_or(scaled(paper_block, scale));
  // Extents are below 2^20 each, so that the product fits.
  if (result.sites.sites() > sites_max) {
    refuse("--grid", "at most " + std::to_string(sites_max) + " sites");
  }
  result.block = {std::min(wanted.k, result.sites.k), std::min(wanted.j, result.sites.j),
                  std::min(wanted.i, result.sites.i)};
  return result;
}

}  // namespace jacobi
