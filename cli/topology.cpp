/// `homing topology`: the machine as a program on Homing would see it, for people and for programs.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <homing/version.hpp>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "parse.hpp"
#include "topology/environment.hpp"
#include "topology/machine.hpp"

namespace homing::cli {
namespace {

using nlohmann::ordered_json;
using namespace homing::topology;

const char* kind_name(domain_kind kind) {
  return kind == domain_kind::l3 ? "l3" : kind == domain_kind::socket ? "socket" : "node";
}

template <class Ids>
std::vector<int> numbers(const Ids& ids) {
  std::vector<int> result;
  result.reserve(ids.size());
  for (const auto id : ids) result.push_back(static_cast<int>(id));
  return result;
}

platform::cpu_set as_set(const std::vector<cpu_id>& cpus) {
  platform::cpu_set result;
  for (const cpu_id cpu : cpus) result.add(cpu);
  return result;
}

ordered_json limits_json(const limits& cut) {
  ordered_json out{{"machine_cpus", cut.machine_cpus},
                   {"offline_cpus", cut.offline_cpus},
                   {"cut_by_cpuset", cut.cut_by_cpuset},
                   {"cut_by_affinity", cut.cut_by_affinity},
                   {"affinity_ignored", cut.mask_ignored}};
  out["quota_cpus"] = cut.quota_cpus ? ordered_json(*cut.quota_cpus) : ordered_json(nullptr);
  out["quota_file"] = cut.quota_file.empty() ? ordered_json(nullptr) : ordered_json(cut.quota_file);
  out["forbidden_memory"] = numbers(cut.forbidden_memory);
  out["nodes_without_memory"] = numbers(cut.nodes_without_memory);
  out["nodes_without_cpus"] = numbers(cut.nodes_without_cpus);
  return out;
}

ordered_json machine_json(const machine& m) {
  ordered_json out{{"homing", homing::version()},        {"virtual", m.is_virtual()},
                   {"kind", kind_name(m.kind())},        {"usable_cpus", m.usable_cpus()},
                   {"threads", m.default_concurrency()}, {"numa_nodes", m.numa_ids()},
                   {"core_types", m.core_type_ids()}};
  ordered_json domains = ordered_json::array();
  ordered_json distances = ordered_json::array();
  for (std::uint32_t i = 0; i < m.domains().size(); ++i) {
    const auto index = static_cast<domain_index>(i);
    const domain& d = m.at(index);
    ordered_json groups = ordered_json::array();
    for (const auto& group : d.l3_groups) groups.push_back(numbers(group));
    domains.push_back({{"index", i},
                       {"node", static_cast<int>(d.node)},
                       {"socket", d.package < 0 ? ordered_json(nullptr) : ordered_json(d.package)},
                       {"has_memory", d.has_memory},
                       {"memory_node", static_cast<int>(d.memory_node)},
                       {"cpus", numbers(d.cpus)},
                       {"l3_groups", groups},
                       {"real_cpus", numbers(d.binding.ids())},
                       {"nearest_first", numbers(m.nearest_first(index))}});
    ordered_json row = ordered_json::array();
    for (std::uint32_t to = 0; to < m.domains().size(); ++to)
      row.push_back(m.distance(index, static_cast<domain_index>(to)));
    distances.push_back(row);
  }
  out["domains"] = domains;
  out["distances"] = distances;
  out["limits"] = limits_json(m.cut());
  return out;
}

// A line a domain; its row of the distance matrix stands in the last columns.
std::string machine_csv(const machine& m) {
  std::string out = "domain,node,socket,has_memory,memory_node,cpu_count,cpus,real_cpus,virtual";
  for (std::size_t to = 0; to < m.domains().size(); ++to) out += fmt::format(",distance_to_{}", to);
  out += '\n';
  for (std::uint32_t i = 0; i < m.domains().size(); ++i) {
    const auto index = static_cast<domain_index>(i);
    const domain& d = m.at(index);
    out += fmt::format("{},{},{},{},{},{},\"{}\",\"{}\",{}", i, static_cast<int>(d.node),
                       d.package < 0 ? "" : std::to_string(d.package), d.has_memory ? 1 : 0,
                       static_cast<int>(d.memory_node), d.cpus.size(), as_set(d.cpus).list(), d.binding.list(),
                       m.is_virtual() ? 1 : 0);
    for (std::uint32_t to = 0; to < m.domains().size(); ++to) {
      out += fmt::format(",{}", m.distance(index, static_cast<domain_index>(to)));
    }
    out += '\n';
  }
  return out;
}

}  // namespace

int topology_command(const arguments& args) {
  CLI::App app(
      "Shows the machine as a program on Homing would see it now: domains, CPUs, distances, and the\n"
      "limits that apply. HOMING_TOPOLOGY, HOMING_DOMAIN, HWLOC_SYNTHETIC and HWLOC_XMLFILE count.",
      "homing topology");
  bool json = false;
  bool csv = false;
  std::string text;
  std::string kind;
  auto* json_flag = app.add_flag("--json", json, "one JSON object");
  app.add_flag("--csv", csv, "a line a domain")->excludes(json_flag);
  app.add_option("--topology", text, "a made-up machine: an hwloc synthetic line, or an XML file");
  app.add_option("--domain", kind, "what a domain is: node, l3 or socket")
      ->check(CLI::IsMember({"node", "l3", "socket"}));
  shape_help(app, "homing topology [OPTIONS]",
             "  homing topology\n"
             "  homing topology --json | jq '.domains[].cpus'\n"
             "  homing topology --topology \"pack:2 node:2 core:4 pu:2\" --domain socket\n"
             "  taskset -c 0 homing topology");
  int result = exit_ok;
  if (!parse(app, args, exit_usage, result)) return result;

  // An option stands above the variable; HOMING_TOPOLOGY itself would be refused with a warning only.
  if (!kind.empty()) ::setenv("HOMING_DOMAIN", kind.c_str(), 1);
  std::shared_ptr<const machine> m;
  if (text.empty()) {
    m = read_environment();
  } else {
    const read_result asked = read({.from = guess_origin(text), .text = text, .kind = kind_of_environment()});
    if (!asked.value) {
      complain("--topology " + text + ": " + asked.error);
      return exit_failure;
    }
    m = asked.value;
  }
  const std::string out = json ? machine_json(*m).dump(2) + '\n' : csv ? machine_csv(*m) : m->describe();
  std::fputs(out.c_str(), stdout);
  return exit_ok;
}

}  // namespace homing::cli
