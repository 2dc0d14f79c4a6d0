#include "node_list.hpp"

#include <optional>

namespace homing::cli {
namespace {

using platform::node_set;

node_list refused(std::string_view text, const std::string& why, const node_set& usable) {
  return {{}, "'" + std::string(text.substr(0, 100)) + "' " + why + " (nodes here: " + usable.list() + ")"};
}

}  // namespace

node_list parse_nodes(std::string_view text, const node_set& usable) {
  if (text == "all") {
    if (usable.empty()) return refused(text, "names no node", usable);
    return {usable};
  }
  std::string_view rest = text;
  const bool inverse = rest.starts_with('!');
  if (inverse) rest.remove_prefix(1);
  const bool relative = rest.starts_with('+');
  if (relative) rest.remove_prefix(1);
  // The kernel's own lists allow white space at the end and no text at all; numactl's don't.
  const bool clean = !rest.empty() && rest.find_first_not_of("0123456789,-") == std::string_view::npos;
  const auto numbers = clean ? node_set::parse_list(rest) : std::nullopt;
  if (!numbers) return refused(text, "is not a list of nodes such as 0-1,3 or all, !0, +0", usable);
  node_set named;
  const auto members = usable.ids();
  for (const auto id : numbers->ids()) {
    const auto place = static_cast<std::size_t>(static_cast<int>(id));
    if (relative ? place >= members.size() : !usable.contains(id)) {
      return refused(text,
                     "names node " + std::string(relative ? "+" : "") + std::to_string(place) +
                         ", which does not exist or may not be used",
                     usable);
    }
    named.add(relative ? members[place] : id);
  }
  if (!inverse) return {named};
  node_set others = usable;
  for (const auto id : named.ids()) others.remove(id);
  if (others.empty()) return refused(text, "leaves no node", usable);
  return {others};
}

}  // namespace homing::cli
