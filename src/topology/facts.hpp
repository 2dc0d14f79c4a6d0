/// What a description says of a machine, before anything is cut: plain data between hwloc and us.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topology/ids.hpp"
#include "topology/source.hpp"

namespace homing::topology {

/// Of a description that we take: Linux has no more.
inline constexpr unsigned long node_count_max = 1024;
inline constexpr unsigned index_max = 65535;  ///< of a CPU or node: far above any kernel's
inline constexpr std::size_t xml_bytes_max = std::size_t{64} << 20;

struct node_fact {
  node_id id;
  bool has_memory;             ///< true for all nodes of a description that gives no sizes
  bool allowed;                ///< the description lets us use its memory
  std::uint64_t memory_bytes;  ///< 0 if unknown or none
};

struct cpu_fact {
  cpu_id id;
  int node;                       ///< place in machine_facts::nodes, -1 if no node contains it
  int package;                    ///< OS id, -1 if unknown
  int core;                       ///< dense number, -1 if unknown: then the CPU is a core of its own
  int l3;                         ///< dense number of its L3 cache, -1 if unknown
  int core_type;                  ///< hwloc's CPU kind, ascending efficiency; -1 if not known
  bool allowed;                   ///< the description (on this system: the cpuset) lets us use it
  std::vector<int> near_nodes{};  ///< places of all nodes that the description puts beside it, `node` first
};

/// A figure of a node's memory, as some CPUs see it.
struct attribute_fact {
  memory_attribute what;
  int node;                  ///< place in machine_facts::nodes
  std::vector<cpu_id> from;  ///< ascending
  std::uint64_t value;
};

struct machine_facts {
  std::vector<node_fact> nodes;     ///< ascending by id; at least one
  std::vector<cpu_fact> cpus;       ///< ascending by id; at least one
  std::vector<unsigned> distances;  ///< row-major over nodes, from x to; empty if unknown
  std::vector<attribute_fact> attributes{};
  bool this_system = false;  ///< its ids are this computer's
  bool made_up = false;      ///< described by a text or file, not read from the kernel
  bool lacks_cores = false;  ///< neither cores nor core types were looked for
};

struct [[nodiscard]] facts_result {
  machine_facts value;
  std::string error{};  ///< empty if it went well
  refused_by who = refused_by::nobody;
};

/// Reads a description with hwloc. Threads: any (each call has a topology of its own).
facts_result read_facts(source::origin from, const std::string& text, source::figures figures = source::figures::none);

/// Cuts the facts to what `given` (or the kernel, where nothing is given) allows, and forms domains.
read_result build(const machine_facts& facts, domain_kind kind, const given_limits& given);

}  // namespace homing::topology
