#include "measure/node_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace homing::measure {
namespace {

std::optional<int> take_number(std::string_view& text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// Nodes with CPUs or memory for this process.
bool is_usable(const topology::node_info& n) { return n.memory == topology::node_memory::usable || !n.cpus.empty(); }

std::string ids_text(const topology::snapshot& machine) {
  std::string text;
  for (const topology::node_info& n : machine.nodes()) {
    text += (text.empty() ? "" : ", ") + std::to_string(to_number(n.id));
  }
  return text;
}

}  // namespace

parsed<std::vector<node_index>> parse_nodes(std::string_view text, const topology::snapshot& machine) {
  const auto syntax = [] {
    return parsed<std::vector<node_index>>{{}, "not a list of nodes; write for example 0-3, 0,2, +0, !2 or all"};
  };
  const auto nodes = machine.nodes();
  std::vector<node_index> usable;
  for (const topology::node_info& n : nodes) {
    if (is_usable(n)) usable.push_back(n.index);
  }
  if (text == "all") return {usable, ""};
  const bool all_but = text.starts_with('!');
  if (all_but) text.remove_prefix(1);
  const bool relative = text.starts_with('+');
  if (relative) text.remove_prefix(1);
  std::vector<bool> named(nodes.size(), false);
  for (bool more = true; more;) {
    const std::optional<int> first = take_number(text);
    std::optional<int> last = first;
    if (first && text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_number(text);
    }
    more = text.starts_with(',');
    if (!first || !last || (!more && !text.empty())) return syntax();
    if (more) text.remove_prefix(1);
    if (*last < *first) return {{}, fmt::format("the range {}-{} runs backwards", *first, *last)};
    const auto end = relative ? static_cast<int>(usable.size()) - 1 : to_number(nodes.back().id);
    for (int n = *first; n <= *last; ++n) {
      std::optional<node_index> found;
      if (n <= end) found = relative ? usable[static_cast<std::size_t>(n)] : machine.find(static_cast<node_id>(n));
      if (!found) {
        if (relative) return {{}, fmt::format("there is no node +{}: this process may use {}", n, usable.size())};
        return {{}, fmt::format("there is no node {}; this machine has: {}", n, ids_text(machine))};
      }
      named[to_index(*found)] = true;
    }
  }
  std::vector<node_index> result;
  for (const topology::node_info& n : nodes) {
    const bool wanted = named[to_index(n.index)] != all_but;
    if (wanted && (!all_but || is_usable(n))) result.push_back(n.index);
  }
  if (result.empty()) return {{}, "no node is left"};
  return {result, ""};
}

}  // namespace homing::measure
