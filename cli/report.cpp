/// Reading the runtime's report and drawing it as a table.
#include "report.hpp"

#include <cstdint>
#include <optional>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace homing::cli {
namespace {

using nlohmann::json;

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

// The sum over all processes; nothing if none of them has the figure.
std::optional<std::uint64_t> sum(const std::vector<json>& reports, const char* path) {
  std::optional<std::uint64_t> total;
  for (const json& report : reports) {
    const json::json_pointer place(path);
    if (!report.contains(place) || !report[place].is_number_unsigned()) continue;
    total = total.value_or(0) + report[place].get<std::uint64_t>();
  }
  return total;
}

std::string count_of(const json& report, const char* key, const std::string& one) {
  const auto found = report.find(key);
  if (found == report.end() || !found->is_number_unsigned()) return "an unknown number of " + one + "s";
  return found->dump() + " " + one + (*found == 1U ? "" : "s");
}

std::string heading(const std::vector<json>& reports) {
  const json& last = reports.back();
  const auto made_up = last.find("virtual");
  const bool is_virtual = made_up != last.end() && made_up->is_boolean() && made_up->get<bool>();
  std::string text = fmt::format("homing: {}{}, {}", count_of(last, "domains", "domain"),
                                 is_virtual ? " of a virtual machine" : "", count_of(last, "threads", "thread"));
  if (reports.size() > 1) text += fmt::format("; sums of {} processes", reports.size());
  return text + '\n';
}

}  // namespace

std::string report_table(const std::string& content) {
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
    if (reports.empty()) return "homing: the report can't be understood\n";
  }
  if (reports.empty()) return "homing: no report: no task ran on our libtbb.so.12, or the program ended abruptly\n";
  std::string table = heading(reports);
  for (const row& r : rows) {
    const auto value = sum(reports, r.path);
    table += fmt::format("  {:<26}", r.label);
    table += value ? fmt::format("{:>14}", *value) : fmt::format("{:>14}", "not measured");
    const auto whole = r.whole == nullptr ? std::nullopt : sum(reports, r.whole);
    if (value && whole && *whole > 0) {
      table += fmt::format("  {:5.1f} %", 100.0 * static_cast<double>(*value) / static_cast<double>(*whole));
    }
    table += '\n';
  }
  return table;
}

}  // namespace homing::cli
