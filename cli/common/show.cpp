#include "common/show.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/text.hpp"

namespace homing::cli {
namespace {

constexpr std::size_t groups_shown_max = 16;
constexpr std::size_t columns_max = 16;  // nodes; beyond that, only those that hold most
constexpr std::size_t label_width = 34;
constexpr std::size_t cell_width = 11;

// The end of a long name says more than its beginning. Letters of several bytes stay whole.
std::string fitted(const std::string& label) {
  const std::string text = printable(label);
  if (text.size() < label_width) return text;
  std::size_t first = text.size() - (label_width - 4);
  while (first < text.size() && (static_cast<unsigned char>(text[first]) & 0xC0U) == 0x80U) ++first;
  return "..." + text.substr(first);
}

std::string label_of(const page_group& group) {
  std::string text = group.kind;
  if (!group.name.empty()) text = group.kind == "file" ? group.name : group.kind + ' ' + group.name;
  if (group.page_bytes > 65536) text += " (" + size_text(group.page_bytes) + " pages)";
  return text;
}

std::string row(const std::string& label, const bytes_by_node& on, const std::vector<int>& nodes) {
  std::string text = fmt::format("  {:<{}}", fitted(label), label_width);
  for (const int node : nodes) {
    const auto found = on.find(node);
    text += fmt::format("{:>{}}", found == on.end() ? "-" : size_text(found->second), cell_width);
  }
  if (nodes.size() != 1) text += fmt::format("{:>{}}", size_text(sum(on)), cell_width);
  return text + '\n';
}

std::vector<int> columns_of(const bytes_by_node& total) {
  std::vector<int> nodes;
  for (const auto& [node, bytes] : total) nodes.push_back(node);
  if (nodes.size() > columns_max) {
    std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) { return total.at(a) > total.at(b); });
    nodes.resize(columns_max);
    std::sort(nodes.begin(), nodes.end());
  }
  return nodes;
}

std::string page_rows(const page_census& pages, detail how_much) {
  const std::vector<int> nodes = columns_of(pages.total);
  std::string text = fmt::format("  {:<{}}", "pages", label_width);
  for (const int node : nodes) text += fmt::format("{:>{}}", fmt::format("node {}", node), cell_width);
  text += nodes.size() == 1 ? "\n" : fmt::format("{:>{}}\n", "total", cell_width);
  std::size_t shown = 0;
  page_group rest;
  for (const page_group& group : pages.groups) {
    if (how_much == detail::all || shown < groups_shown_max) {
      if (group.on.empty() && how_much == detail::most) continue;  // nothing of it is in memory
      text += row(label_of(group), group.on, nodes);
      ++shown;
      continue;
    }
    rest.mappings += group.on.empty() ? 0 : 1;
    for (const auto& [node, bytes] : group.on) rest.on[node] += bytes;
  }
  if (rest.mappings > 0) text += row(fmt::format("{} smaller ones (--all)", rest.mappings), rest.on, nodes);
  if (pages.total.size() > nodes.size())
    text += fmt::format("  {} more nodes: see --json\n", pages.total.size() - nodes.size());
  return text + row("all", pages.total, nodes);
}

struct thread_count {
  std::size_t threads = 0;
  std::size_t confined = 0;  // may run on no other node
};

std::map<int, thread_count> threads_by_node(const std::vector<thread_look>& threads) {
  std::map<int, thread_count> result;
  for (const thread_look& thread : threads) {
    thread_count& count = result[thread.node];
    ++count.threads;
    if (thread.mask_nodes.count() == 1) ++count.confined;
  }
  return result;
}

std::vector<int> numbers(const std::vector<platform::cpu_id>& ids) {
  std::vector<int> result;
  for (const auto id : ids) result.push_back(static_cast<int>(id));
  return result;
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string look_table(const process_look& look, detail how_much) {
  std::string text =
      fmt::format("process {} ({}): {} in pages on {} node{}, {} thread{}\n", look.id, printable(look.name),
                  size_text(sum(look.pages.total)), look.pages.total.size(), look.pages.total.size() == 1 ? "" : "s",
                  look.threads.size(), look.threads.size() == 1 ? "" : "s");
  text += page_rows(look.pages, how_much);
  if (look.transparent_huge_bytes) {
    text += fmt::format("  of it in transparent huge pages: {}\n", size_text(*look.transparent_huge_bytes));
  }
  std::string policies;
  for (const auto& [policy, bytes] : look.pages.policies) {
    if (policy != "default")
      policies += fmt::format("{}{} ({})", policies.empty() ? "" : ", ", policy, size_text(bytes));
  }
  if (!policies.empty()) text += "  memory with a policy: " + policies + '\n';
  const auto counts = threads_by_node(look.threads);
  if (counts.empty()) return text;
  text += "  threads, by the node of the CPU they ran on last:\n";
  for (const auto& [node, count] : counts) {
    text += fmt::format("    {:<10}{:>6}, {} of them may run on no other node\n",
                        node < 0 ? "unknown" : fmt::format("node {}", node), count.threads, count.confined);
  }
  return text;
}

nlohmann::ordered_json look_json(const process_look& look) {
  using nlohmann::ordered_json;
  const auto by_node = [](const bytes_by_node& bytes) {
    ordered_json out = ordered_json::object();
    for (const auto& [node, amount] : bytes) out[std::to_string(node)] = amount;
    return out;
  };
  ordered_json out{{"pid", look.id}, {"name", look.name}, {"bytes_by_node", by_node(look.pages.total)}};
  out["transparent_huge_bytes"] =
      look.transparent_huge_bytes ? ordered_json(*look.transparent_huge_bytes) : ordered_json(nullptr);
  out["mappings"] = ordered_json::array();
  for (const page_group& group : look.pages.groups) {
    out["mappings"].push_back({{"kind", group.kind},
                               {"name", group.name.empty() ? ordered_json(nullptr) : ordered_json(group.name)},
                               {"count", group.mappings},
                               {"page_bytes", group.page_bytes},
                               {"bytes_by_node", by_node(group.on)}});
  }
  out["policies"] = ordered_json(look.pages.policies);
  out["threads"] = ordered_json::array();
  for (const thread_look& thread : look.threads) {
    out["threads"].push_back({{"tid", thread.id},
                              {"name", thread.name},
                              {"last_cpu", thread.last_cpu},
                              {"node", thread.node < 0 ? ordered_json(nullptr) : ordered_json(thread.node)},
                              {"cpus_allowed", numbers(thread.mask.ids())},
                              {"nodes_allowed", thread.mask_nodes.list()}});
  }
  return out;
}

std::string look_csv(const process_look& look) {
  std::string text = "kind,name,page_bytes,node,pages,bytes\n";
  for (const page_group& group : look.pages.groups) {
    for (const auto& [node, bytes] : group.on) {
      text += fmt::format("{},{},{},{},{},{}\n", group.kind, quoted(group.name), group.page_bytes, node,
                          bytes / group.page_bytes, bytes);
    }
  }
  return text;
}

}  // namespace homing::cli
