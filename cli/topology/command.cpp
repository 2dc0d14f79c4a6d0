/// `homing topology`: the machine as a program on Homing would see it, for people and for programs.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <homing/version.hpp>
#include <nlohmann/json.hpp>

#include "common/command.hpp"
#include "common/measure_options.hpp"
#include "common/parse.hpp"
#include "common/text.hpp"
#include "topology/environment.hpp"
#include "topology/machine.hpp"
#include "topology/view.hpp"

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

ordered_json limits_json(const limits& cut) {
  ordered_json out{{"machine_cpus", cut.machine_cpus},     {"offline_cpus", cut.offline_cpus},
                   {"cut_by_cpuset", cut.cut_by_cpuset},   {"cut_by_affinity", cut.cut_by_affinity},
                   {"affinity_ignored", cut.mask_ignored}, {"affinity_refused", cut.mask_refused != 0},
                   {"affinity_known", cut.mask_known}};
  out["quota_cpus"] = cut.quota_cpus ? ordered_json(*cut.quota_cpus) : ordered_json(nullptr);
  out["quota_file"] = cut.quota_file.empty() ? ordered_json(nullptr) : ordered_json(cut.quota_file);
  out["thread_limit"] = cut.thread_limit ? ordered_json(*cut.thread_limit) : ordered_json(nullptr);
  out["forbidden_memory"] = numbers(cut.forbidden_memory);
  out["nodes_without_memory"] = numbers(cut.nodes_without_memory);
  out["nodes_without_cpus"] = numbers(cut.nodes_without_cpus);
  return out;
}

const char* memory_name(node_memory memory) {
  return memory == node_memory::usable ? "usable" : memory == node_memory::forbidden ? "forbidden" : "absent";
}

ordered_json nodes_json(const machine& m, const free_memory& free) {
  ordered_json out = ordered_json::array();
  for (std::uint32_t i = 0; i < m.nodes().size(); ++i) {
    const node& n = m.nodes()[i];
    ordered_json row = ordered_json::array();
    for (std::uint32_t to = 0; to < m.nodes().size(); ++to) {
      row.push_back(m.distance(static_cast<node_index>(i), static_cast<node_index>(to)));
    }
    const auto found = free.find(static_cast<int>(n.id));
    out.push_back({{"node", static_cast<int>(n.id)},
                   {"memory", memory_name(n.memory)},
                   {"memory_bytes", n.memory_bytes > 0 ? ordered_json(n.memory_bytes) : ordered_json(nullptr)},
                   {"free_bytes", found == free.end() ? ordered_json(nullptr) : ordered_json(found->second)},
                   {"cpus", numbers(n.cpus)},
                   {"memory_only", n.is_tier},
                   {"nearest_memory", static_cast<int>(m.nodes()[static_cast<std::size_t>(n.nearest_memory)].id)},
                   {"distances", row}});
  }
  return out;
}

ordered_json machine_json(const machine& m, const free_memory& free) {
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
    ordered_json nodes = ordered_json::array();
    for (const node* n : nodes_of(m, d)) nodes.push_back(static_cast<int>(n->id));
    domains.push_back({{"index", i},
                       {"node", d.nodeless ? ordered_json(nullptr) : ordered_json(static_cast<int>(d.node))},
                       {"nodes", nodes},
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
  out["distances_known"] = m.distances_known();
  out["nodes"] = nodes_json(m, free);
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
    out += fmt::format(
        "{},{},{},{},{},{},\"{}\",\"{}\",{}", i, d.nodeless ? "" : std::to_string(static_cast<int>(d.node)),
        d.package < 0 ? "" : std::to_string(d.package), d.has_memory ? 1 : 0, static_cast<int>(d.memory_node),
        d.cpus.size(), list_of(d.cpus), d.binding.list(), m.is_virtual() ? 1 : 0);
    for (std::uint32_t to = 0; to < m.domains().size(); ++to) {
      out += fmt::format(",{}", m.distance(index, static_cast<domain_index>(to)));
    }
    out += '\n';
  }
  return out;
}

// How wide a terminal is that the text goes to; anything else is as wide as the text likes.
std::size_t columns_of_stdout() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : text_columns_max;
}

}  // namespace

int topology_command(const arguments& args) {
  CLI::App app(
      "Shows the machine as a program on Homing would see it now: domains, CPUs, memory, distances, and\n"
      "the limits that apply and what sets them. HOMING_TOPOLOGY, HOMING_DOMAIN, HOMING_THREADS,\n"
      "HWLOC_SYNTHETIC and HWLOC_XMLFILE count. Distances only sort near and far; they are no latencies.",
      "homing topology");
  bool json = false;
  bool csv = false;
  std::string text;
  std::string kind;
  std::string picture;
  auto* json_flag = app.add_flag("--json", json, "one JSON object");
  app.add_flag("--csv", csv, "a line a domain")->excludes(json_flag);
  app.add_option("--svg", picture, "also write a picture to this file");
  app.add_option("--topology", text, "a made-up machine: an hwloc synthetic line, or an XML file");
  app.add_option("--domain", kind, "what a domain is: node, l3 or socket")
      ->check(CLI::IsMember({"node", "l3", "socket"}));
  shape_help(app, "homing topology [OPTIONS]",
             "  homing topology\n"
             "  homing topology --svg machine.svg\n"
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
    const read_result asked = read({.from = guess_origin(text),
                                    .text = text,
                                    .kind = kind_of_environment(),
                                    .limits = {.threads = threads_of_environment()}});
    if (!asked.value) {
      complain("--topology " + text + ": " + asked.error + machine_expected);
      return exit_failure;
    }
    m = asked.value;
  }
  const free_memory free = read_free_memory(*m);
  if (!picture.empty()) {
    output_file file(picture);
    file.write(draw_svg(*m, free));
  }
  const std::string out = json  ? json_text(machine_json(*m, free))
                          : csv ? machine_csv(*m)
                                : draw_text(*m, free, columns_of_stdout());
  std::fputs(out.c_str(), stdout);
  return exit_ok;
}

}  // namespace homing::cli
