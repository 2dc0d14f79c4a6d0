/// A machine drawn in text: a box a domain, as many side by side as a terminal is wide.
#include <fmt/format.h>

#include <algorithm>

#include "common/show.hpp"
#include "platform/files.hpp"
#include "topology/view.hpp"

namespace homing::cli {
namespace {

using namespace homing::topology;

constexpr std::size_t columns = 80;
constexpr std::size_t nodes_drawn_max = 14;  // of the matrix: what fits the columns

using box = std::vector<std::string>;

std::string counted(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

const node& node_of(const machine& m, node_id id) {
  return *std::find_if(m.nodes().begin(), m.nodes().end(), [&](const node& n) { return n.id == id; });
}

box domain_box(const machine& m, std::size_t index, const free_memory& free) {
  const domain& d = m.domains()[index];
  const node& n = node_of(m, d.node);
  box lines{fmt::format("domain {}: {}", index, node_name(d))};
  if (d.package >= 0) lines[0] += fmt::format(", socket {}", d.package);
  if (!d.nodeless) lines.push_back(memory_text(n, free));
  if (!d.has_memory) lines.push_back(fmt::format("memory from node {}", static_cast<int>(d.memory_node)));
  lines.push_back(fmt::format("{}: {}", counted(d.cpus.size(), "CPU"), list_of(d.cpus)));
  if (d.l3_groups.size() > 1) {
    for (const auto& group : d.l3_groups) lines.push_back("  L3 group: " + list_of(group));
  }
  if (m.is_virtual()) lines.push_back("runs on real CPUs " + d.binding.list());
  return lines;
}

box tier_box(const node& n, const free_memory& free) {
  return {fmt::format("node {}: {}", static_cast<int>(n.id), n.is_tier ? "memory only" : "no usable CPU"),
          memory_text(n, free)};
}

std::size_t width_of(const box& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, line.size());
  return width;
}

// Boxes of one row, the same height.
std::string draw_row(std::span<const box> boxes, std::size_t width) {
  std::size_t height = 0;
  for (const box& b : boxes) height = std::max(height, b.size());
  std::string rule;
  for (std::size_t i = 0; i < boxes.size(); ++i) rule += (i > 0 ? "  +" : "+") + std::string(width + 2, '-') + '+';
  std::string text = rule + '\n';
  for (std::size_t line = 0; line < height; ++line) {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      text += fmt::format("{}| {:<{}} |", i > 0 ? "  " : "", line < boxes[i].size() ? boxes[i][line] : "", width);
    }
    text += '\n';
  }
  return text + rule + '\n';
}

std::string draw_boxes(const std::vector<box>& boxes) {
  std::size_t width = 0;
  for (const box& b : boxes) width = std::max(width, width_of(b));
  const std::size_t in_row = std::max<std::size_t>(1, (columns + 2) / (width + 6));
  std::string text;
  for (std::size_t first = 0; first < boxes.size(); first += in_row) {
    text += draw_row(std::span(boxes).subspan(first, std::min(in_row, boxes.size() - first)), width);
  }
  return text;
}

std::string draw_distances(const machine& m) {
  const std::size_t count = m.domains().size();
  if (count < 2) return "";
  if (count > nodes_drawn_max) return fmt::format("distances of {} domains: see --json or --svg\n", count);
  std::string text = fmt::format("distances{} (row: from, column: to):\n     ", m.distances_known() ? "" : ", assumed");
  for (std::size_t to = 0; to < count; ++to) text += fmt::format("{:>5}", to);
  text += '\n';
  for (std::size_t from = 0; from < count; ++from) {
    text += fmt::format("{:>5}", from);
    for (std::size_t to = 0; to < count; ++to) {
      text += fmt::format("{:>5}", m.distance(static_cast<domain_index>(from), static_cast<domain_index>(to)));
    }
    text += '\n';
  }
  return text + distance_note + '\n';
}

std::string list_of_nodes(const std::vector<node_id>& nodes) {
  platform::node_set set;
  for (const node_id id : nodes) set.add(id);
  return set.list();
}

}  // namespace

std::string list_of(const std::vector<cpu_id>& cpus) {
  platform::cpu_set set;
  for (const cpu_id cpu : cpus) set.add(cpu);
  return set.list();
}

std::string memory_text(const node& n, const free_memory& free) {
  if (n.memory == node_memory::absent) return "no memory";
  const std::string size = n.memory_bytes > 0 ? size_text(n.memory_bytes) + " memory" : "memory of unknown size";
  if (n.memory == node_memory::forbidden) return size + ", not allowed";
  const auto found = free.find(static_cast<int>(n.id));
  return found == free.end() ? size : size + ", " + size_text(found->second) + " free";
}

free_memory read_free_memory(const machine& m) {
  free_memory result;
  if (m.is_virtual()) return result;
  for (const node& n : m.nodes()) {
    const int id = static_cast<int>(n.id);
    const auto text = platform::read_file(fmt::format("/sys/devices/system/node/node{}/meminfo", id));
    const std::size_t at = text ? text->find("MemFree:") : std::string::npos;
    if (at != std::string::npos) result[id] = std::strtoull(text->c_str() + at + 8, nullptr, 10) * 1024;
  }
  return result;
}

std::string node_name(const domain& d) {
  return d.nodeless ? "no node" : fmt::format("node {}", static_cast<int>(d.node));
}

std::vector<std::string> limit_sentences(const machine& m) {
  const limits& cut = m.cut();
  std::vector<std::string> lines{fmt::format("{} of {} usable", m.usable_cpus(), counted(cut.machine_cpus, "CPU"))};
  const auto add = [&](std::string text) { lines.push_back(std::move(text)); };
  if (cut.offline_cpus > 0) add(counted(cut.offline_cpus, "more CPU") + " offline");
  if (cut.cut_by_cpuset > 0) add("the cpuset takes " + counted(cut.cut_by_cpuset, "CPU"));
  if (cut.cut_by_affinity > 0) add("the affinity mask takes " + counted(cut.cut_by_affinity, "CPU"));
  if (cut.mask_refused != 0) add(mask_sentence(cut));
  if (cut.mask_ignored) add("the affinity mask has none of the CPUs and was ignored");
  if (cut.quota_cpus) {
    add(fmt::format("CPU quota {:.2f}{}", *cut.quota_cpus, cut.quota_file.empty() ? "" : " (" + cut.quota_file + ")"));
  }
  if (cut.thread_limit) add(fmt::format("HOMING_THREADS={}", *cut.thread_limit));
  if (!cut.forbidden_memory.empty()) add("memory not allowed on node " + list_of_nodes(cut.forbidden_memory));
  if (!cut.nodes_without_memory.empty()) add("no memory on node " + list_of_nodes(cut.nodes_without_memory));
  if (!cut.nodes_without_cpus.empty()) add("memory only, no CPUs: node " + list_of_nodes(cut.nodes_without_cpus));
  if (cut.kind_unknown) add("the machine does not report the kind of domain asked for: domains are nodes");
  return lines;
}

std::string draw_text(const machine& m, const free_memory& free) {
  const char* const kind = m.kind() == domain_kind::l3       ? "L3 group"
                           : m.kind() == domain_kind::socket ? "socket"
                                                             : "NUMA node";
  const char* const many = m.domains().size() == 1 ? "" : "s";
  std::string text = fmt::format("{}machine: {} ({}{}), {}, {} by default\n", m.is_virtual() ? "virtual " : "",
                                 counted(m.domains().size(), "domain"), kind, many,
                                 counted(m.usable_cpus(), "usable CPU"), counted(m.default_concurrency(), "thread"));
  std::vector<box> boxes;
  for (std::size_t i = 0; i < m.domains().size(); ++i) boxes.push_back(domain_box(m, i, free));
  for (const node& n : m.nodes()) {
    if (n.cpus.empty()) boxes.push_back(tier_box(n, free));
  }
  text += draw_boxes(boxes) + draw_distances(m);
  const std::vector<std::string> limits = limit_sentences(m);
  text += "limits: " + limits.front() + '\n';
  for (std::size_t i = 1; i < limits.size(); ++i) text += "        " + limits[i] + '\n';
  return text;
}

}  // namespace homing::cli
