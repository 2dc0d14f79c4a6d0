#include "measure/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/node_list.hpp"
#include "common/text.hpp"
#include "measure/units.hpp"
#include "platform/caches.hpp"
#include "platform/cgroup.hpp"
#include "platform/node_memory.hpp"

namespace homing::measure {
namespace {

constexpr std::uint64_t assumed_cache_bytes = std::uint64_t{32} << 20;
constexpr double share_of_available = 0.8;

// Whether a node has the domain's CPUs; otherwise its node only lends it memory.
bool is_in_a_node(const topology::snapshot& machine, const topology::domain_info& d) {
  const std::vector<cpu_id>& cpus = machine.at(d.node).cpus;
  return std::find(cpus.begin(), cpus.end(), d.cpus.front()) != cpus.end();
}

// The node's CPUs, one of each L3 group in turn, so that a few threads use all its caches.
std::vector<cpu_id> spread_out(const topology::snapshot& machine, node_index node) {
  std::vector<std::vector<cpu_id>> groups;
  for (const topology::domain_info& d : machine.domains()) {
    if (d.node != node || !is_in_a_node(machine, d)) continue;
    if (machine.is_virtual()) {
      std::vector<cpu_id> dealt;
      for (std::size_t i = 0; i < d.cpus.size(); ++i) dealt.push_back(d.runs_on[i % d.runs_on.size()]);
      groups.push_back(std::move(dealt));
    } else {
      groups.insert(groups.end(), d.l3_groups.begin(), d.l3_groups.end());
    }
  }
  std::vector<cpu_id> result;
  for (std::size_t i = 0; !groups.empty(); ++i) {
    std::erase_if(groups, [&](const auto& group) { return i >= group.size(); });
    for (const auto& group : groups) result.push_back(group[i]);
  }
  return result;
}

std::uint64_t caches_of(const std::vector<cpu_id>& cpus) {
  platform::cpu_set set;
  for (const cpu_id cpu : cpus) set.add(cpu);
  std::uint64_t bytes = 0;
  for (const platform::cache& c : platform::last_level_caches(set)) bytes += c.bytes;
  return bytes;
}

// Threads of a node under a CPU quota: its share of what makes sense for the process.
std::size_t allowed_threads(const topology::snapshot& machine, std::size_t cpus, std::size_t all_cpus) {
  const auto quota = machine.cut().quota_cpus;
  if (machine.is_virtual() || !quota || *quota >= static_cast<double>(all_cpus)) return cpus;
  const auto budget = static_cast<std::size_t>(std::ceil(*quota));
  return std::max<std::size_t>(1, cpus * budget / all_cpus);
}

void choose_memory(plan& p, const std::vector<node_index>& nodes) {
  p.available = platform::available_bytes_of_system();
  const auto in_group = platform::read_memory_left();
  if (in_group && (!p.available || *p.available > *in_group)) p.available = in_group;
  for (const node_index index : nodes) {
    const topology::node_info& n = p.machine.at(index);
    if (n.memory != topology::node_memory::usable) continue;
    const auto available = p.machine.is_virtual() ? std::nullopt : platform::available_bytes(n.id);
    p.memory_nodes.push_back({index, n.id, n.is_tier, available});
  }
}

void choose_cpus(plan& p, const std::vector<node_index>& nodes, std::optional<unsigned> threads) {
  std::size_t all_cpus = 0;
  for (const topology::domain_info& d : p.machine.domains()) all_cpus += d.cpus.size();
  for (const node_index index : nodes) {
    std::vector<cpu_id> cpus = spread_out(p.machine, index);
    if (cpus.empty()) continue;
    const int id = to_number(p.machine.at(index).id);
    if (threads && *threads > cpus.size()) {
      p.error = fmt::format("--threads {}: node {} has {} CPU{} for this process", *threads, id, cpus.size(),
                            cpus.size() == 1 ? "" : "s");
      return;
    }
    cpus.resize(threads ? *threads : allowed_threads(p.machine, cpus.size(), all_cpus));
    const std::uint64_t all_caches = caches_of(cpus);
    const std::uint64_t own_cache = caches_of({cpus.front()});
    p.cpu_nodes.push_back({index, p.machine.at(index).id, std::move(cpus), all_caches, own_cache, node_index{0}});
  }
}

node_index nearest(const plan& p, node_index from) {
  const auto closer = [&](const memory_node& a, const memory_node& b) {
    if ((a.index == from) != (b.index == from)) return a.index == from;
    if (a.is_tier != b.is_tier) return b.is_tier;  // ordinary memory before a tier
    return p.machine.distance(from, a.index) < p.machine.distance(from, b.index);
  };
  return std::min_element(p.memory_nodes.begin(), p.memory_nodes.end(), closer)->index;
}

void note(plan& p) {
  const topology::snapshot& machine = p.machine;
  if (machine.is_virtual()) {
    p.notes.emplace_back(
        "virtual machine: its nodes are made up. Threads ran on this computer's CPUs, dealt round-robin, and no memory "
        "could be placed: every figure is of this computer's own memory and says nothing about such a machine");
  }
  if (machine.cut().quota_cpus && !machine.is_virtual()) {
    p.notes.push_back(fmt::format("CPU quota of {:.2f} CPUs ({}): the kernel may stop threads while they are timed",
                                  *machine.cut().quota_cpus, cli::printable(machine.cut().quota_file)));
  }
  platform::cpu_set nodeless;
  for (const topology::domain_info& d : machine.domains()) {
    for (const cpu_id cpu : d.cpus) {
      if (!is_in_a_node(machine, d)) nodeless.add(cpu);
    }
  }
  if (!nodeless.empty()) p.notes.push_back(fmt::format("no node has CPUs {}: they are not measured", nodeless.list()));
  for (const cpu_node& c : p.cpu_nodes) {
    if (c.cache_bytes > 0) continue;
    p.notes.push_back(
        fmt::format("the caches of node {} are unknown: {} MiB assumed", to_number(c.id), assumed_cache_bytes >> 20));
  }
}

// Nodes with CPUs or memory for this process.
platform::node_set usable_nodes(const topology::snapshot& machine) {
  platform::node_set usable;
  for (const topology::node_info& n : machine.nodes()) {
    if (n.memory == topology::node_memory::usable || !n.cpus.empty()) usable.add(n.id);
  }
  return usable;
}

}  // namespace

std::size_t plan::place_of(node_index memory) const {
  const auto found =
      std::find_if(memory_nodes.begin(), memory_nodes.end(), [&](const memory_node& m) { return m.index == memory; });
  return static_cast<std::size_t>(found - memory_nodes.begin());
}

const memory_node& plan::memory(node_index node) const { return memory_nodes[place_of(node)]; }

plan make_plan(const std::string& nodes, std::optional<unsigned> threads) {
  plan p{
      .machine = topology::current(), .cpu_nodes = {}, .memory_nodes = {}, .available = {}, .notes = {}, .error = {}};
  const cli::node_list chosen = cli::parse_nodes(nodes, usable_nodes(p.machine));
  if (!chosen.error.empty()) {
    p.error = "--nodes: " + chosen.error;
    return p;
  }
  std::vector<node_index> named;
  for (const topology::node_info& n : p.machine.nodes()) {
    if (chosen.nodes.contains(n.id)) named.push_back(n.index);
  }
  choose_memory(p, named);
  choose_cpus(p, named, threads);
  const std::string lack = p.cpu_nodes.empty() ? "no CPU" : p.memory_nodes.empty() ? "no memory" : "";
  if (p.error.empty() && !lack.empty()) {
    p.is_machines_fault = nodes == "all";
    p.error = (p.is_machines_fault ? "this machine" : "--nodes " + nodes) + ": " + lack + " that this process may use";
  }
  if (!p.error.empty()) return p;
  for (cpu_node& c : p.cpu_nodes) c.local = nearest(p, c.index);
  note(p);
  return p;
}

std::uint64_t beyond_caches(std::uint64_t cache_bytes, unsigned factor) {
  return factor * (cache_bytes > 0 ? cache_bytes : assumed_cache_bytes);
}

std::uint64_t largest_cache(const plan& p, std::uint64_t cpu_node::*figure) {
  std::uint64_t largest = 0;
  for (const cpu_node& c : p.cpu_nodes) largest = std::max(largest, beyond_caches(c.*figure, 1));
  return largest;
}

shortage look_for_shortage(const plan& p, const std::map<std::size_t, std::uint64_t>& wanted) {
  shortage worst;
  const auto compare = [&](std::optional<std::uint64_t> available, std::uint64_t bytes, const std::string& who) {
    if (!available || bytes == 0) return;
    const double share = share_of_available * static_cast<double>(*available) / static_cast<double>(bytes);
    if (share < worst.share) worst = {share, who + " " + size_text(*available) + " to give"};
  };
  std::uint64_t all = 0;
  for (const auto& [place, bytes] : wanted) {
    const memory_node& m = p.memory_nodes[place];
    compare(m.available, bytes, fmt::format("node {}, which has", to_number(m.id)));
    all += bytes;
  }
  compare(p.available, all, "this system, which has");
  return worst;
}

}  // namespace homing::measure
