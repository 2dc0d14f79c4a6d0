/// Which walks make up `homing latency`, idle and under load, and carrying them out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bandwidth/run.hpp"
#include "measure/plan.hpp"
#include "measure/spread.hpp"

namespace homing::measure {

struct latency_wishes {
  unsigned repeat;
  page_wish pages;
  std::optional<std::uint64_t> buffer_bytes;  ///< none: four times the caches, at least 64 MiB, at most what fits
  bool loaded;
};

/// One thread, on the first CPU of a node, walks through a buffer on a memory node; nobody else does anything.
struct latency_figure {
  node_pair pair;
  std::uint64_t buffer_bytes = 0;
  std::size_t line_bytes = 0;
  std::size_t steps = 0;  ///< of one run
  spread ns{};            ///< of one load
  memory_fact memory{};
  bool is_complete = false;  ///< the walk came back to its start after every line, and not before
  std::size_t unbound = 0;   ///< threads that could not be bound to their CPU
};

/// The same walk while the node's other CPUs read from the same memory.
struct loaded_point {
  std::optional<std::uint64_t> delay_ns;  ///< between two chunks of each reader; none: nobody reads
  spread ns{};
  spread mb_per_s{};  ///< of all threads, the walker's lines included
};

struct loaded_curve {
  node_pair pair;
  std::string why_not{};  ///< not measured, and why; else empty
  std::uint64_t buffer_bytes = 0;
  std::uint64_t load_bytes = 0;
  std::size_t readers = 0;
  std::vector<loaded_point> points{};  ///< growing intensity
  memory_fact memory{};
  bool is_complete = false;
  std::size_t unbound = 0;
};

struct latency_figures {
  std::vector<latency_figure> idle;  ///< row-major: CPU nodes down, memory nodes across
  std::vector<loaded_curve> loaded;  ///< each CPU node on its nearest memory; empty if not wished
};

/// The measurements for a plan, not yet made. Notes what had to be made smaller in plan::notes; a given size that does
/// not fit is plan::error.
[[nodiscard]] latency_figures list_walks(plan& p, const latency_wishes& wishes);

/// Carries them out. Errors: std::runtime_error: no memory, no threads.
void walk_all(const plan& p, const latency_wishes& wishes, latency_figures& figures, const progress& report);

/// "CPU node 0, memory node 1"
[[nodiscard]] std::string label_of(const plan& p, const node_pair& pair);

}  // namespace homing::measure
