#include "common/node_list.hpp"

#include <optional>

#include "common/device_node.hpp"

namespace homing::cli {
namespace {

using platform::node_set;

node_list refused(std::string_view text, const std::string& why, const node_set& usable) {
  return {{}, "'" + std::string(text.substr(0, 100)) + "' " + why + " (nodes here: " + usable.list() + ")"};
}

node_list absent(std::string_view text, const std::string& node, const node_set& usable) {
  return refused(text, "names node " + node + ", which does not exist or may not be used", usable);
}

// Stricter than the kernel's own lists, which allow white space at the end, no text at all, and -0.
bool looks_like_list(std::string_view text) {
  char before = ',';
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (before < '0' || (c != ',' && c != '-'))) return false;  // a sign comes behind a digit
    before = c;
  }
  return !text.empty();
}

node_list all_but(const node_set& named, std::string_view text, const node_set& usable) {
  node_set others = usable;
  for (const auto id : named.ids()) others.remove(id);
  if (others.empty()) return refused(text, "leaves no node", usable);
  return {others};
}

}  // namespace

node_list parse_nodes(std::string_view text, const node_set& usable, const node_words& words) {
  if (text == "all") {
    if (usable.empty()) return refused(text, "names no node", usable);
    return {usable};
  }
  if (text == "same") {
    if (words.same == nullptr) return refused(text, "means the nodes of the option before, and there is none", usable);
    for (const auto id : words.same->ids()) {
      if (!usable.contains(id)) return absent(text, std::to_string(static_cast<int>(id)), usable);
    }
    return {*words.same};
  }
  std::string_view rest = text;
  const bool inverse = rest.starts_with('!');
  if (inverse) rest.remove_prefix(1);
  if (names_device(rest)) {
    const device_node found = find_device_node(rest, words.root);
    if (!found.node) return refused(text, found.error, usable);
    if (!usable.contains(*found.node)) return absent(text, std::to_string(static_cast<int>(*found.node)), usable);
    return inverse ? all_but(node_set{*found.node}, text, usable) : node_list{node_set{*found.node}};
  }
  const bool relative = rest.starts_with('+');
  if (relative) rest.remove_prefix(1);
  const auto numbers = looks_like_list(rest) ? node_set::parse_list(rest) : std::nullopt;
  if (!numbers) return refused(text, "is not a list of nodes such as 0-1,3 or all, !0, +0, same, netdev:eth0", usable);
  node_set named;
  const auto members = usable.ids();
  for (const auto id : numbers->ids()) {
    const auto place = static_cast<std::size_t>(static_cast<int>(id));
    if (relative ? place >= members.size() : !usable.contains(id)) {
      return absent(text, (relative ? "+" : "") + std::to_string(place), usable);
    }
    named.add(relative ? members[place] : id);
  }
  return inverse ? all_but(named, text, usable) : node_list{named};
}

}  // namespace homing::cli
