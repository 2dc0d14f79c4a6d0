/// The locality report as a picture: which domain ran the tasks of which home, and on which nodes the pages were.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "common/show.hpp"
#include "measure/picture.hpp"
#include "run/report.hpp"

namespace homing::cli {
namespace {

using nlohmann::ordered_json;

// Three digits at least, and what they count in: 950, 1.20 k, 34.5 M.
std::string rounded(std::uint64_t count) {
  constexpr const char* units[] = {"", " k", " M", " G", " T"};
  if (count < 1000) return std::to_string(count);
  auto value = static_cast<double>(count);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[unit]);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::uint64_t number(const ordered_json& report, const char* path) {
  const ordered_json& value = report[ordered_json::json_pointer(path)];
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

measure::heat_map tasks_map(const ordered_json& report) {
  measure::heat_map map{"tasks", "home domain", "ran in domain", {}, {}, {}};
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> pairs;
  std::map<unsigned, std::uint64_t> of_home;
  for (const ordered_json& entry : report["homes"]) {
    pairs[{entry[0], entry[1]}] = entry[2];
    of_home[entry[0]] += entry[2].get<std::uint64_t>();
  }
  const auto domains = report["domains"].get<unsigned>();
  for (unsigned home = 0; home < domains; ++home) {
    map.row_names.push_back(std::to_string(home));
    map.column_names.push_back(std::to_string(home));
    for (unsigned ran_in = 0; ran_in < domains; ++ran_in) {
      const std::uint64_t tasks = pairs[{home, ran_in}];
      map.cells.push_back({static_cast<double>(tasks), rounded(tasks), percent(tasks, of_home[home])});
    }
  }
  return map;
}

measure::heat_map pages_map(const ordered_json& report) {
  measure::heat_map map{"pages", "", "node", {}, {}, {}};
  const bool several = report["processes"] > 1;
  const std::pair<const char*, const char*> rows[] = {
      {"bytes_by_node", several ? "all processes, at the end" : "at the end"},
      {"fullest_bytes_by_node", several ? "the first, when it had most" : "when it had most"}};
  for (const auto& [key, name] : rows) {
    if (!report[key].is_object()) continue;
    for (const auto& [node, bytes] : report[key].items()) {
      if (std::find(map.column_names.begin(), map.column_names.end(), node) == map.column_names.end())
        map.column_names.push_back(node);
    }
  }
  for (const auto& [key, name] : rows) {
    if (!report[key].is_object() || report[key].empty()) continue;
    map.row_names.emplace_back(name);
    std::uint64_t all = 0;
    for (const auto& [node, bytes] : report[key].items()) all += bytes.get<std::uint64_t>();
    for (const std::string& node : map.column_names) {
      const std::uint64_t bytes = report[key].value(node, std::uint64_t{0});
      map.cells.push_back({static_cast<double>(bytes), size_text(bytes), percent(bytes, all)});
    }
  }
  return map;
}

}  // namespace

std::string report_svg(const ordered_json& report, const std::string& program) {
  constexpr unsigned drawn_max = 64;  // domains: beyond, a reader sees no cell
  measure::picture p("Where the tasks of " + program + " ran", measure::palette::blue);
  const std::uint64_t tasks = number(report, "/tasks/executed");
  p.caption(fmt::format("{} tasks on {} threads, {} of them in their home domain", rounded(tasks),
                        report["threads"].dump(), percent(number(report, "/tasks/home"), tasks)));
  p.caption(fmt::format("steals: {} near, {} far; taken from mailboxes: {}; revokes: {}",
                        rounded(number(report, "/steals/near")), rounded(number(report, "/steals/far")),
                        rounded(number(report, "/mailbox")), rounded(number(report, "/revokes"))));
  if (report["virtual"] == true)
    p.caption(
        "a made-up machine: the domains are real to the scheduler only, and pages are where this machine has them");
  const bool has_homes = report["homes"].is_array() && report["domains"].is_number_unsigned();
  if (has_homes && report["domains"].get<unsigned>() <= drawn_max) {
    p.add(tasks_map(report));
  } else {
    p.caption(has_homes ? "too many domains to draw: see --json" : "tasks by home: not measured");
  }
  const measure::heat_map pages = pages_map(report);
  if (pages.cells.empty()) {
    p.caption("pages by node: not measured");
  } else {
    p.add(pages);
  }
  return p.finish();
}

}  // namespace homing::cli
