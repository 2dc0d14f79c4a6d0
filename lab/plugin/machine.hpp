/// The machine that the model plays: what `machine.json` says, checked.
///
/// Units:   in the names: GHz, GB/s (1e9 bytes), ns, KiB, MiB. Nodes, CPUs and links by dense index from 0.
/// Threads: read-only once it is read.
/// Errors:  machine_error, whose text names the figure, what was expected, and what was found.
/// Source:  docs/design/0006-the-lab.md, "The machine".
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core_shape.hpp"

namespace homing::lab::model {

inline constexpr unsigned line_bytes = 64;
inline constexpr unsigned cores_max = 64;          // private caches: a bit each in a line's directory entry
inline constexpr unsigned shared_caches_max = 32;  // as well
inline constexpr unsigned nodes_max = 64;

struct machine_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct cache_shape {
  double size_kib = 0;  // with a fraction where a cache was scaled down
  unsigned ways = 0;
  double latency_ns = 0;
  /// At least one; a size that is no multiple of ways x line is cut.
  [[nodiscard]] std::uint64_t sets() const { return static_cast<std::uint64_t>(size_kib * 1024 / line_bytes / ways); }
};

struct shared_cache_shape : cache_shape {
  unsigned node = 0;
  double written_ns = 0;  // what a core of it has written and still holds, for another core of it
};

struct memory_shape {
  unsigned node = 0;
  std::uint64_t size_mib = 0;
  double bandwidth_gbs = 0;
};

using matrix = std::vector<std::vector<double>>;

struct machine {
  std::string name;
  double clock_ghz = 0;
  double cpi = 0;        // cycles an instruction, without any miss
  unsigned overlap = 0;  // misses that one CPU keeps in flight
  core_shape core;
  std::vector<unsigned> cpu_node, cpu_core, cpu_l3;
  cache_shape private_cache;
  std::vector<shared_cache_shape> shared;
  std::vector<memory_shape> memory;  // in the order of QEMU's backends
  matrix dram_ns;                    // [node of the CPU][node of the memory]
  matrix cache_ns;                   // [node of the CPU][node whose cache serves]
  matrix pair_gbs;                   // [node of the CPU][node of the memory]; 0 where nothing is published
  std::vector<double> link_gbs;      // a link is one direction
  std::vector<std::vector<std::vector<unsigned>>> routes;  // [node of the CPU][of the memory or cache]: links
  double cache_scale = 1;                                  // by how much the caches are smaller than the real machine's
  std::vector<std::string> assumed;

  [[nodiscard]] unsigned cpus() const { return static_cast<unsigned>(cpu_node.size()); }
  [[nodiscard]] unsigned nodes() const { return static_cast<unsigned>(dram_ns.size()); }
  [[nodiscard]] unsigned cores() const;
};

[[nodiscard]] machine parse_machine(std::string_view json);
[[nodiscard]] machine read_machine(const std::filesystem::path& file);

}  // namespace homing::lab::model
