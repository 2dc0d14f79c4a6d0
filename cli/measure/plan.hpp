/// What is measured: which CPUs, which memories, and how large the buffers are.
#pragma once

#include <homing/topology.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace homing::measure {

struct cpu_node {
  node_index index;
  node_id id;
  std::vector<cpu_id> cpus;       ///< real CPUs, a thread each; on a virtual machine one may stand for several
  std::uint64_t cache_bytes;      ///< sum of the last-level caches that these CPUs share; 0 if unknown
  std::uint64_t own_cache_bytes;  ///< of these, the one that the first CPU uses; 0 if unknown
  node_index local;               ///< the nearest of the memories that are measured
};

struct memory_node {
  node_index index;
  node_id id;
  bool is_tier;                            ///< it has no CPUs
  std::optional<std::uint64_t> available;  ///< bytes that it has to give; nothing if unknown
};

struct plan {
  topology::snapshot machine;
  std::vector<cpu_node> cpu_nodes;         ///< ascending by id, not empty
  std::vector<memory_node> memory_nodes;   ///< ascending by id, not empty
  std::optional<std::uint64_t> available;  ///< bytes that all nodes together have to give to this process
  std::vector<std::string> notes;          ///< what a reader of the figures must know
  std::string error;                       ///< one line; empty if the plan can be carried out
  bool is_machines_fault = false;          ///< `error` is no option's

  [[nodiscard]] const memory_node& memory(node_index node) const;
  /// The place in memory_nodes.
  [[nodiscard]] std::size_t place_of(node_index memory) const;
};

/// `nodes`: as cli::parse_nodes reads them, for example "all". `threads`: of each CPU node; none: all its CPUs, or
/// fewer by the CPU quota, whatever HOMING_THREADS says. Errors: in plan::error; bad input with the option's name.
/// Threads: any.
[[nodiscard]] plan make_plan(const std::string& nodes, std::optional<unsigned> threads);

/// A line-of-cache multiple that is at least `factor` times the caches, or what is assumed where they are unknown.
[[nodiscard]] std::uint64_t beyond_caches(std::uint64_t cache_bytes, unsigned factor);

/// The largest of a figure of the CPU nodes' caches, with what is assumed where it is unknown.
[[nodiscard]] std::uint64_t largest_cache(const plan& p, std::uint64_t cpu_node::*figure);

/// Buffers are too large for a node, or for this process.
struct shortage {
  double share = 1;     ///< of what is wanted, that fits; 1: all
  std::string where{};  ///< "node 0, which has 3 GiB to give"
};

/// How much of the bytes wanted on each memory node (by place) fits: at most four fifths of what there is.
[[nodiscard]] shortage look_for_shortage(const plan& p, const std::map<std::size_t, std::uint64_t>& wanted);

}  // namespace homing::measure
