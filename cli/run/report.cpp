#include "run/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "common/show.hpp"

namespace homing::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct row {
  const char* label;
  const char* path;   // JSON pointer
  const char* whole;  // what it is a share of; null: nothing
};

constexpr row rows[] = {
    {"tasks executed", "/tasks/executed", nullptr},
    {"  in their home domain", "/tasks/home", "/tasks/executed"},
    {"  away", "/tasks/away", "/tasks/executed"},
    {"steals, near", "/steals/near", nullptr},
    {"steals, far", "/steals/far", nullptr},
    {"taken from mailboxes", "/mailbox", nullptr},
    {"taken from shared queues", "/shared_queue", nullptr},
    {"revokes", "/revokes", nullptr},
    {"bypasses", "/bypasses", nullptr},
    {"wake-ups", "/wakeups", nullptr},
};

constexpr unsigned matrix_max = 12;  // domains that a terminal is wide enough for

// The sum over all processes; null if none of them has the figure.
ordered_json sum_of(const std::vector<json>& reports, const char* path) {
  std::optional<std::uint64_t> total;
  for (const json& report : reports) {
    const json::json_pointer place(path);
    if (!report.contains(place) || !report[place].is_number_unsigned()) continue;
    total = total.value_or(0) + report[place].get<std::uint64_t>();
  }
  return total ? ordered_json(*total) : ordered_json(nullptr);
}

// The largest of all processes, whose machines may differ; null if none of them has the figure.
ordered_json most_of(const std::vector<json>& reports, const char* key) {
  std::optional<std::uint64_t> most;
  for (const json& report : reports) {
    if (report.contains(key) && report[key].is_number_unsigned())
      most = std::max(most.value_or(0), report[key].get<std::uint64_t>());
  }
  return most ? ordered_json(*most) : ordered_json(nullptr);
}

// [[home, ran in, tasks], ...] of all processes.
ordered_json homes_of(const std::vector<json>& reports) {
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> pairs;
  bool known = false;
  for (const json& report : reports) {
    const auto found = report.find("homes");
    if (found == report.end() || !found->is_array()) continue;
    known = true;
    for (const json& entry : *found) {
      if (entry.size() == 3)
        pairs[{entry[0].get<unsigned>(), entry[1].get<unsigned>()}] += entry[2].get<std::uint64_t>();
    }
  }
  if (!known) return nullptr;
  ordered_json out = ordered_json::array();
  for (const auto& [pair, tasks] : pairs) out.push_back({pair.first, pair.second, tasks});
  return out;
}

ordered_json pages_of(const std::vector<json>& reports) {
  std::map<std::string, std::uint64_t> nodes;
  bool known = false;
  for (const json& report : reports) {
    const auto found = report.find("bytes_by_node");
    if (found == report.end() || !found->is_object()) continue;
    known = true;
    for (const auto& [node, bytes] : found->items()) nodes[node] += bytes.get<std::uint64_t>();
  }
  return known ? ordered_json(nodes) : ordered_json(nullptr);
}

ordered_json traffic_of(const traffic_result& traffic) {
  if (traffic.events.empty()) return nullptr;
  std::uint64_t near = 0;
  std::uint64_t far = 0;
  ordered_json events = ordered_json::object();
  for (const traffic_event& event : traffic.events) {
    (event.where == reach::near ? near : far) += event.count;
    events[event.name] = event.count;
  }
  return {{"near", near}, {"far", far}, {"events", events}};
}

std::vector<json> parse_reports(const std::string& content) {
  std::vector<json> reports;
  std::istringstream stream(content);
  try {
    while (stream >> std::ws && !stream.eof()) {
      json report;
      stream >> report;
      if (!report.is_object()) throw std::runtime_error("not an object");
      reports.push_back(std::move(report));
    }
  } catch (const std::exception&) {
    // What a process left half-written ends the list; what stands before it counts.
    if (reports.empty()) throw;
  }
  return reports;
}

std::string counted(const ordered_json& count, const char* one) {
  if (!count.is_number()) return fmt::format("an unknown number of {}s", one);
  return fmt::format("{} {}{}", count.dump(), one, count == 1 ? "" : "s");
}

std::string figure(const ordered_json& value) { return value.is_null() ? "not measured" : value.dump(); }

std::string share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "" : fmt::format("  {:5.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string homes_table(const ordered_json& report) {
  const ordered_json& homes = report["homes"];
  const ordered_json& count = report["domains"];
  if (!homes.is_array() || !count.is_number_unsigned() || count < 2) return "";
  const auto domains = count.get<unsigned>();
  if (domains > matrix_max) return "  tasks by home and domain: see --json\n";
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> pairs;
  for (const ordered_json& entry : homes) pairs[{entry[0], entry[1]}] = entry[2];
  std::string text = "  tasks by home (row) and domain that ran them (column):\n        ";
  for (unsigned ran_in = 0; ran_in < domains; ++ran_in) text += fmt::format("{:>11}", ran_in);
  text += '\n';
  for (unsigned home = 0; home < domains; ++home) {
    text += fmt::format("  {:>6}", home);
    for (unsigned ran_in = 0; ran_in < domains; ++ran_in) text += fmt::format("{:>11}", pairs[{home, ran_in}]);
    text += '\n';
  }
  return text;
}

std::string tasks_rows(const ordered_json& report) {
  if (report["domains"] == 0 && report["tasks"]["executed"] == 0) {
    return "  no task was reported; a process that ends by _exit, abort, exec or a signal reports none\n";
  }
  std::string text;
  for (const row& r : rows) {
    const ordered_json& value = report[ordered_json::json_pointer(r.path)];
    text += fmt::format("  {:<26}{:>14}", r.label, figure(value));
    if (r.whole != nullptr && value.is_number()) {
      const ordered_json& whole = report[ordered_json::json_pointer(r.whole)];
      if (whole.is_number()) text += share_of(value.get<std::uint64_t>(), whole.get<std::uint64_t>());
    }
    text += '\n';
  }
  return text + homes_table(report);
}

std::string pages_row(const char* label, const ordered_json& bytes_by_node) {
  std::string text = fmt::format("  {:<26}", label);
  if (!bytes_by_node.is_object()) return text + fmt::format("{:>14}\n", "not measured");
  std::string nodes;
  for (const auto& [node, bytes] : bytes_by_node.items()) {
    nodes += fmt::format("{}node {}: {}", nodes.empty() ? "" : ", ", node, size_text(bytes.get<std::uint64_t>()));
  }
  return text + "  " + nodes + '\n';
}

std::string traffic_rows(const ordered_json& report) {
  const ordered_json& traffic = report["traffic"];
  if (traffic.is_null()) {
    return fmt::format("  {:<26}{:>14}: {}\n", "hardware memory traffic", "not measured",
                       report["traffic_reason"].get<std::string>());
  }
  const auto near = traffic["near"].get<std::uint64_t>();
  const auto far = traffic["far"].get<std::uint64_t>();
  std::string text =
      fmt::format("  {:<26}{:>14}{}\n", "memory traffic, near", near, share_of(near, near + far)) +
      fmt::format("  {:<26}{:>14}{}\n  by the CPU's events", "memory traffic, far", far, share_of(far, near + far));
  const char* between = " ";
  for (const auto& [name, count] : traffic["events"].items()) {
    text += between + name;
    between = ", ";
  }
  return text + '\n';
}

}  // namespace

run_report sum_report(const std::string& content, const outside_view& outside) {
  std::vector<json> reports;
  try {
    reports = parse_reports(content);
    if (reports.empty())
      return {std::nullopt, "no report: no task ran on our libtbb.so.12, or the program ended abruptly"};
    ordered_json out{{"processes", reports.size()}};
    out["domains"] = most_of(reports, "domains");
    out["threads"] = most_of(reports, "threads");
    out["virtual"] = std::any_of(reports.begin(), reports.end(),
                                 [](const json& r) { return r.contains("virtual") && r["virtual"] == true; });
    for (const row& r : rows) out[ordered_json::json_pointer(r.path)] = sum_of(reports, r.path);
    out["homes"] = homes_of(reports);
    out["bytes_by_node"] = pages_of(reports);
    ordered_json fullest = nullptr;
    if (outside.fullest) {
      fullest = ordered_json::object();
      for (const auto& [node, bytes] : outside.fullest->pages.total) fullest[std::to_string(node)] = bytes;
    }
    out["fullest_bytes_by_node"] = fullest;
    out["traffic"] = traffic_of(outside.traffic);
    if (outside.traffic.events.empty()) out["traffic_reason"] = outside.traffic.reason;
    return {std::move(out)};
  } catch (const std::exception&) {
    return {std::nullopt, "the report can't be understood"};
  }
}

std::string report_table(const ordered_json& report) {
  std::string text =
      fmt::format("homing: {}{}, {}", counted(report["domains"], "domain"),
                  report["virtual"] == true ? " of a virtual machine" : "", counted(report["threads"], "thread"));
  if (report["processes"] > 1) text += fmt::format("; sums of {} processes", report["processes"].dump());
  text += '\n' + tasks_rows(report);
  text += pages_row("pages at the end", report["bytes_by_node"]);
  if (report["fullest_bytes_by_node"].is_object()) {
    const char* const whose =
        report["processes"] > 1 ? "pages of the first process, when it had most" : "pages when it had most";
    text += pages_row(whose, report["fullest_bytes_by_node"]);
  }
  return text + traffic_rows(report);
}

std::string report_csv(const ordered_json& report) {
  std::string text = "figure,value\n";
  for (const char* key : {"processes", "domains", "threads", "virtual"}) {
    text += fmt::format("{},{}\n", key, report[key].is_null() ? "" : report[key].dump());
  }
  for (const row& r : rows) {
    const ordered_json& value = report[ordered_json::json_pointer(r.path)];
    std::string name = r.path + 1;
    for (char& c : name) c = c == '/' ? '_' : c;
    text += fmt::format("{},{}\n", name, value.is_null() ? "" : value.dump());
  }
  if (report["homes"].is_array()) {
    for (const ordered_json& entry : report["homes"]) {
      text += fmt::format("tasks_of_home_{}_in_{},{}\n", entry[0].dump(), entry[1].dump(), entry[2].dump());
    }
  }
  for (const auto& [key, name] :
       {std::pair("bytes_by_node", "bytes_on_node_"), std::pair("fullest_bytes_by_node", "fullest_bytes_on_node_")}) {
    if (!report[key].is_object()) continue;
    for (const auto& [node, bytes] : report[key].items()) text += fmt::format("{}{},{}\n", name, node, bytes.dump());
  }
  const ordered_json& traffic = report["traffic"];
  for (const char* key : {"near", "far"}) {
    text += fmt::format("traffic_{},{}\n", key, traffic.is_null() ? "" : traffic[key].dump());
  }
  return text;
}

}  // namespace homing::cli
