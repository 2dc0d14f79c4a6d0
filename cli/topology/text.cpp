/// A machine drawn in text: a box a domain, as many side by side as a terminal is wide.
#include <fmt/format.h>

#include <algorithm>

#include "common/show.hpp"
#include "common/text.hpp"
#include "platform/files.hpp"
#include "topology/view.hpp"

namespace homing::cli {
namespace {

using namespace homing::topology;

constexpr std::size_t box_width_min = 24;  // within its frame: less is no list of CPUs
constexpr std::size_t frame_width = 4;
constexpr std::size_t nodes_drawn_max = 14;  // of the matrix: what fits the columns

using box = std::vector<std::string>;

std::string counted(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

box domain_box(const machine& m, std::size_t index, const free_memory& free, std::size_t columns) {
  const std::size_t box_width_max = std::max(box_width_min + frame_width, columns) - frame_width;
  const domain& d = m.domains()[index];
  box lines{domain_title(m, index)};
  const auto add = [&](const std::vector<std::string>& more) { lines.insert(lines.end(), more.begin(), more.end()); };
  add(memory_lines(m, d, free));
  if (!d.has_memory) lines.push_back(fmt::format("memory from node {}", static_cast<int>(d.memory_node)));
  add(wrapped(fmt::format("{}: {}", counted(d.cpus.size(), "CPU"), list_of(d.cpus)), box_width_max));
  if (d.l3_groups.size() > 1) {
    for (const auto& group : d.l3_groups) add(wrapped("  L3 group: " + list_of(group), box_width_max));
  }
  if (m.is_virtual()) add(wrapped("runs on real CPUs " + d.binding.list(), box_width_max));
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

std::string draw_boxes(const std::vector<box>& boxes, std::size_t columns) {
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

std::vector<const node*> nodes_of(const machine& m, const domain& d) {
  std::vector<const node*> result;
  for (const node& n : m.nodes()) {
    const bool has_some =
        std::find_first_of(n.cpus.begin(), n.cpus.end(), d.cpus.begin(), d.cpus.end()) != n.cpus.end();
    if (has_some) result.push_back(&n);
  }
  return result;
}

std::string domain_title(const machine& m, std::size_t index) {
  const domain& d = m.domains()[index];
  const std::vector<const node*> nodes = nodes_of(m, d);
  platform::node_set ids;
  for (const node* n : nodes) ids.add(n->id);
  const std::string where = nodes.empty() ? "no node" : (nodes.size() > 1 ? "nodes " : "node ") + ids.list();
  return fmt::format("domain {}: {}{}", index, where, d.package < 0 ? "" : fmt::format(", socket {}", d.package));
}

std::vector<std::string> memory_lines(const machine& m, const domain& d, const free_memory& free) {
  const std::vector<const node*> nodes = nodes_of(m, d);
  std::vector<std::string> lines;
  for (const node* n : nodes) {
    const std::string whose = nodes.size() > 1 ? fmt::format("node {}: ", static_cast<int>(n->id)) : "";
    lines.push_back(whose + memory_text(*n, free));
  }
  return lines;
}

std::vector<std::string> wrapped(const std::string& list, std::size_t width) {
  std::vector<std::string> lines{""};
  for (std::size_t start = 0; start < list.size();) {
    const std::size_t comma = list.find(',', start);
    const std::string entry = list.substr(start, comma == std::string::npos ? comma : comma + 1 - start);
    if (!lines.back().empty() && lines.back().size() + entry.size() > width) lines.emplace_back("  ");
    lines.back() += entry;
    start += entry.size();
  }
  return lines;
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
    add(fmt::format("CPU quota {:.2f}{}", *cut.quota_cpus,
                    cut.quota_file.empty() ? "" : " (" + printable(cut.quota_file) + ")"));
  }
  if (cut.thread_limit) add(fmt::format("HOMING_THREADS={}", *cut.thread_limit));
  if (!cut.forbidden_memory.empty()) add("memory not allowed on node " + list_of_nodes(cut.forbidden_memory));
  if (!cut.nodes_without_memory.empty()) add("no memory on node " + list_of_nodes(cut.nodes_without_memory));
  if (!cut.nodes_without_cpus.empty()) add("memory only, no CPUs: node " + list_of_nodes(cut.nodes_without_cpus));
  if (cut.kind_unknown) add("the machine does not report the kind of domain asked for: domains are nodes");
  return lines;
}

std::string draw_text(const machine& m, const free_memory& free, std::size_t columns) {
  columns = std::min(columns, text_columns_max);
  const char* const kind = m.kind() == domain_kind::l3       ? "L3 group"
                           : m.kind() == domain_kind::socket ? "socket"
                                                             : "NUMA node";
  const char* const many = m.domains().size() == 1 ? "" : "s";
  std::string text = fmt::format("{}machine: {} ({}{}), {}, {} by default\n", m.is_virtual() ? "virtual " : "",
                                 counted(m.domains().size(), "domain"), kind, many,
                                 counted(m.usable_cpus(), "usable CPU"), counted(m.default_concurrency(), "thread"));
  std::vector<box> boxes;
  for (std::size_t i = 0; i < m.domains().size(); ++i) boxes.push_back(domain_box(m, i, free, columns));
  for (const node& n : m.nodes()) {
    if (n.cpus.empty()) boxes.push_back(tier_box(n, free));
  }
  text += draw_boxes(boxes, columns) + draw_distances(m);
  const std::vector<std::string> limits = limit_sentences(m);
  text += "limits: " + limits.front() + '\n';
  for (std::size_t i = 1; i < limits.size(); ++i) text += "        " + limits[i] + '\n';
  return text;
}

}  // namespace homing::cli
