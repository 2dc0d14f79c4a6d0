/// A machine as a drawing in text and as a picture.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "topology/machine.hpp"

namespace homing::cli {

/// Bytes of free memory by the OS id of the node; of this computer's nodes only.
using free_memory = std::map<int, std::uint64_t>;

/// What the kernel says now; empty for a virtual machine and where the kernel does not say.
[[nodiscard]] free_memory read_free_memory(const topology::machine& m);

/// Boxes of domains with their L3 groups and CPUs, the other nodes, distances, limits. ASCII, 80 columns.
[[nodiscard]] std::string draw_text(const topology::machine& m, const free_memory& free);

/// The same as a self-contained SVG picture, which follows the reader's light or dark setting.
[[nodiscard]] std::string draw_svg(const topology::machine& m, const free_memory& free);

/// What numbers in a distance matrix are good for.
inline constexpr const char* distance_note = "Distances only sort near and far; they are not latencies.";

/// "15.6 GiB memory, 3.1 GiB free"; "no memory"; "memory not allowed".
[[nodiscard]] std::string memory_text(const topology::node& n, const free_memory& free);

/// "node 2", or "no node" for CPUs that no node has.
[[nodiscard]] std::string node_name(const topology::domain& d);

/// "0-3,8".
[[nodiscard]] std::string list_of(const std::vector<topology::cpu_id>& cpus);

/// The limits that apply, a sentence each.
[[nodiscard]] std::vector<std::string> limit_sentences(const topology::machine& m);

}  // namespace homing::cli
