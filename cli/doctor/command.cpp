/// `homing doctor`: what here will help or hurt a NUMA program, each line with what to do.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/command.hpp"
#include "common/parse.hpp"
#include "common/text.hpp"
#include "doctor/finding.hpp"
#include "platform/files.hpp"
#include "platform/kernel_limits.hpp"
#include "topology/environment.hpp"

namespace homing::cli {
namespace {

const char* name_of(health status) { return status == health::ok ? "ok" : status == health::warn ? "warn" : "bad"; }

std::size_t count_of(const std::vector<finding>& findings, health status) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const finding& f) { return f.status == status; }));
}

std::vector<finding> examine() {
  std::vector<finding> all;
  const auto add = [&](std::vector<finding> more) { std::move(more.begin(), more.end(), std::back_inserter(all)); };
  const auto machine = topology::read_environment();
  const std::string own_environment = platform::read_file("/proc/self/environ", std::size_t{4} << 20U).value_or("");
  add(judge_libraries());
  add(judge_machine(*machine));
  add(judge_calls(try_calls()));
  add({judge_events(find_events()),
       judge_balancing(platform::read_file("/proc/sys/kernel/numa_balancing"), machine->nodes().size()),
       judge_huge_pages(platform::read_file("/sys/kernel/mm/transparent_hugepage/enabled"))});
  const auto online = platform::read_file("/sys/devices/system/cpu/online");
  const auto cpus = online ? platform::cpu_set::parse_list(*online) : std::nullopt;
  add(judge_neighbours(read_neighbours(), platform::read_process_mask().cpus,
                       cpus ? cpus->count() : machine->cut().machine_cpus, is_rank(own_environment)));
  return all;
}

std::string table(const std::vector<finding>& findings) {
  std::string text;
  for (const finding& f : findings) {
    text += fmt::format("{:<5} {:<18} {}\n", name_of(f.status), f.topic, printable(f.says));
    if (!f.advice.empty()) text += fmt::format("{:<25}do: {}\n", "", f.advice);
  }
  return text + fmt::format("{} ok, {} to look at, {} bad\n", count_of(findings, health::ok),
                            count_of(findings, health::warn), count_of(findings, health::bad));
}

nlohmann::ordered_json as_json(const std::vector<finding>& findings) {
  using nlohmann::ordered_json;
  ordered_json rows = ordered_json::array();
  for (const finding& f : findings) {
    rows.push_back({{"status", name_of(f.status)},
                    {"topic", f.topic},
                    {"says", f.says},
                    {"advice", f.advice.empty() ? ordered_json(nullptr) : ordered_json(f.advice)}});
  }
  return {{"ok", count_of(findings, health::ok)},
          {"warn", count_of(findings, health::warn)},
          {"bad", count_of(findings, health::bad)},
          {"findings", rows}};
}

std::string as_csv(const std::vector<finding>& findings) {
  std::string text = "status,topic,says,advice\n";
  for (const finding& f : findings) {
    text += fmt::format("{},{},{},{}\n", name_of(f.status), quoted(f.topic), quoted(f.says), quoted(f.advice));
  }
  return text;
}

}  // namespace

int doctor_command(const arguments& args) {
  CLI::App app(
      "Says what here helps or hurts a NUMA program, and what to do about it: what a sandbox refuses (by\n"
      "calling), kernel settings, limits, nodes, other processes on the same CPUs, library versions.\n"
      "ok: nothing to do; warn: it may cost speed; bad: something will not work.",
      "homing doctor");
  bool json = false;
  bool csv = false;
  bool strict = false;
  auto* json_flag = app.add_flag("--json", json, "one JSON object");
  app.add_flag("--csv", csv, "a line a finding")->excludes(json_flag);
  app.add_flag("--strict", strict, "exit code 1 if a finding is not ok");
  shape_help(app, "homing doctor [OPTIONS]",
             "  homing doctor\n"
             "  homing doctor --json | jq '.findings[] | select(.status != \"ok\")'\n"
             "  mpirun -np 2 homing doctor --strict",
             "  0    examined, whatever was found\n"
             "  1    with --strict: a finding is warn or bad; or a variable was not valid, or it failed\n"
             "  2    wrong usage\n");
  int result = exit_ok;
  if (!parse(app, args, exit_usage, result)) return result;
  const std::vector<finding> findings = examine();
  const std::string out = json ? json_text(as_json(findings)) : csv ? as_csv(findings) : table(findings);
  std::fputs(out.c_str(), stdout);
  return strict && count_of(findings, health::ok) < findings.size() ? exit_failure : exit_ok;
}

}  // namespace homing::cli
