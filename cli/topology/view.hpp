/// A machine as a drawing in text and as a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "topology/machine.hpp"

namespace homing::cli {

/// Bytes of free memory by the OS id of the node; of this computer's nodes only.
using free_memory = std::map<int, std::uint64_t>;

/// What the kernel says now; empty for a virtual machine and where the kernel does not say.
[[nodiscard]] free_memory read_free_memory(const topology::machine& m);

inline constexpr std::size_t text_columns_max = 80;

/// Boxes of domains with their L3 groups and CPUs, the other nodes, distances, limits. ASCII. Boxes stand side by side
/// as far as `columns` go; at most 80 of them are used.
[[nodiscard]] std::string draw_text(const topology::machine& m, const free_memory& free,
                                    std::size_t columns = text_columns_max);

/// The same as a self-contained SVG picture, which follows the reader's light or dark setting.
[[nodiscard]] std::string draw_svg(const topology::machine& m, const free_memory& free);

/// What numbers in a distance matrix are good for.
inline constexpr const char* distance_note = "Distances only sort near and far; they are not latencies.";

/// "15.6 GiB memory, 3.1 GiB free"; "no memory"; "memory not allowed".
[[nodiscard]] std::string memory_text(const topology::node& n, const free_memory& free);

/// The nodes that have CPUs of the domain, ascending: one, several in a socket, none for CPUs that no node has.
[[nodiscard]] std::vector<const topology::node*> nodes_of(const topology::machine& m, const topology::domain& d);

/// "domain 0: node 2, socket 1"; "nodes 2-3"; "no node".
[[nodiscard]] std::string domain_title(const topology::machine& m, std::size_t index);

/// memory_text() of each of its nodes, which is named if there are several.
[[nodiscard]] std::vector<std::string> memory_lines(const topology::machine& m, const topology::domain& d,
                                                    const free_memory& free);

/// A text with a list, cut behind commas into lines of at most `width` characters. Lines but the first are indented.
[[nodiscard]] std::vector<std::string> wrapped(const std::string& list, std::size_t width);

/// "0-3,8".
[[nodiscard]] std::string list_of(const std::vector<topology::cpu_id>& cpus);

/// The limits that apply, a sentence each.
[[nodiscard]] std::vector<std::string> limit_sentences(const topology::machine& m);

}  // namespace homing::cli
