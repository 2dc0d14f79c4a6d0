/// Sets of nodes as numactl(8) writes them, read strictly and in one place.
#pragma once

#include <string>
#include <string_view>

#include "platform/id_set.hpp"

namespace homing::cli {

struct [[nodiscard]] node_list {
  platform::node_set nodes{};  ///< never empty if there is no error
  std::string error{};         ///< empty, or what was wrong, what was expected and which nodes there are
};

/// What the words mean beyond the nodes themselves.
struct node_words {
  const platform::node_set* same = nullptr;  ///< the nodes of the option before; null: there was none
  std::string root{};                        ///< what stands for / where devices are looked up
};

/// `0-1,3`: these; `all`: all of `usable`; `!0`: all of `usable` but these; `+0-1`: counted among `usable`, the lowest
/// being +0; `!+0`: all but those; `same`: those of the option before; `netdev:eth0`, `block:sda`, `pci:3b:00.0`,
/// `file:/data`: the device's, also behind `!`. Numbers are decimal; a node that is not in `usable`, an empty part, a
/// reversed range and an empty result are errors.
node_list parse_nodes(std::string_view text, const platform::node_set& usable, const node_words& words = {});

}  // namespace homing::cli
