/// A machine drawn in text, for people.
#include <cstdio>
#include <cstring>
#include <string>

#include "topology/machine.hpp"

namespace homing::topology {
namespace {

std::string counted(std::size_t count, const char* noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

std::string list(const std::vector<cpu_id>& cpus) {
  platform::cpu_set set;
  for (const cpu_id cpu : cpus) set.add(cpu);
  return set.list();
}

std::string list(const std::vector<node_id>& nodes) {
  platform::node_set set;
  for (const node_id node : nodes) set.add(node);
  return set.list();
}

const char* kind_name(domain_kind kind) {
  switch (kind) {
    case domain_kind::l3:
      return "an L3 group";
    case domain_kind::socket:
      return "a socket";
    case domain_kind::node:
      break;
  }
  return "a NUMA node";
}

std::string describe_domain(std::size_t index, const domain& d, bool made_up) {
  std::string text = "domain " + std::to_string(index) + ": " +
                     (d.nodeless ? "no node" : "node " + std::to_string(static_cast<int>(d.node)));
  if (d.package >= 0) text += ", socket " + std::to_string(d.package);
  text += ", " + counted(d.cpus.size(), "CPU") + ": " + list(d.cpus);
  if (d.l3_groups.size() > 1) {
    text += ", L3 groups:";
    for (const auto& group : d.l3_groups) text += " {" + list(group) + '}';
  }
  if (!d.has_memory) text += ", memory from node " + std::to_string(static_cast<int>(d.memory_node));
  if (made_up) text += ", runs on real CPUs " + d.binding.list();
  return text + '\n';
}

std::string right(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string draw_distances(const std::vector<unsigned>& distances, std::size_t count) {
  constexpr std::size_t drawn_max = 32;  // more columns than a terminal has
  constexpr std::size_t width = 5;
  if (count > drawn_max) return "distances: too many to draw\n";
  std::string text = "distances (row: from, column: to):\n" + std::string(width, ' ');
  for (std::size_t to = 0; to < count; ++to) text += right(std::to_string(to), width);
  text += '\n';
  for (std::size_t from = 0; from < count; ++from) {
    text += right(std::to_string(from), width);
    for (std::size_t to = 0; to < count; ++to) text += right(std::to_string(distances[from * count + to]), width);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string mask_sentence(const limits& cut) {
  const char* const code = ::strerrorname_np(cut.mask_refused);
  return std::string("the affinity mask can't be read (sched_getaffinity: ") + (code == nullptr ? "refused" : code) +
         (cut.mask_known ? "); taken from /proc/self/status" : "): all CPUs of the cpuset count");
}

namespace {

std::string describe_limits(const limits& cut, unsigned usable) {
  std::string text = "limits: " + std::to_string(usable) + " of " + counted(cut.machine_cpus, "CPU") + " usable";
  const auto add = [&](const std::string& part) { text += "; " + part; };
  if (cut.offline_cpus > 0) add(std::to_string(cut.offline_cpus) + " more offline");
  if (cut.cut_by_cpuset > 0) add("the cpuset takes " + std::to_string(cut.cut_by_cpuset));
  if (cut.cut_by_affinity > 0) add("the affinity mask takes " + std::to_string(cut.cut_by_affinity));
  if (cut.mask_refused != 0) add(mask_sentence(cut));
  if (cut.mask_ignored) add("the affinity mask has none of them and was ignored");
  if (cut.quota_cpus) {
    char number[32];
    std::snprintf(number, sizeof(number), "%.2f", *cut.quota_cpus);
    add(std::string("CPU quota ") + number + (cut.quota_file.empty() ? "" : " (" + cut.quota_file + ")"));
  }
  if (!cut.forbidden_memory.empty()) add("memory not allowed on node " + list(cut.forbidden_memory));
  if (!cut.nodes_without_memory.empty()) add("no memory on node " + list(cut.nodes_without_memory));
  if (!cut.nodes_without_cpus.empty()) add("memory only, no CPUs: node " + list(cut.nodes_without_cpus));
  if (cut.kind_unknown) add("the machine does not report the kind of domain asked for: domains are nodes");
  return text + '\n';
}

}  // namespace

std::string machine::describe() const {
  std::string text = virtual_ ? "virtual machine: " : "machine: ";
  text += counted(domains_.size(), "domain") + " (each " + kind_name(kind_) + "), " +
          counted(usable_cpus_, "usable CPU") + ", " + counted(default_concurrency_, "thread") + " by default\n";
  for (std::size_t i = 0; i < domains_.size(); ++i) text += describe_domain(i, domains_[i], virtual_);
  if (domains_.size() > 1) text += draw_distances(distances_, domains_.size());
  return text + describe_limits(limits_, usable_cpus_);
}

}  // namespace homing::topology
