/// Which STREAM measurements make up `homing bandwidth`, and carrying them out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/plan.hpp"
#include "measure/stream.hpp"

namespace homing::measure {

enum class pattern {
  pair,        ///< the CPUs of one node on the memory of one
  all_local,   ///< all CPU nodes at once, each on its nearest memory
  all_to_one,  ///< all CPU nodes at once on one memory
  all_remote   ///< all CPU nodes at once, each on the memory after its nearest: a rotation, so that they spread
};
[[nodiscard]] const char* name_of(pattern p) noexcept;

/// Places in plan::cpu_nodes and plan::memory_nodes.
struct node_pair {
  std::size_t cpu;
  std::size_t memory;
  friend bool operator==(const node_pair&, const node_pair&) = default;
};

struct bandwidth_figure {
  pattern what;
  std::vector<node_pair> pairs;              ///< at work at the same time
  std::vector<std::uint64_t> array_bytes{};  ///< of each pair: one of its three arrays
  std::string why_not{};                     ///< not measured, and why; else empty
  std::optional<std::size_t> same_as{};      ///< an earlier one has the same pairs: its result is this one's, too
  stream_result result{};                    ///< if it was measured
};

struct bandwidth_wishes {
  std::vector<kernel> kernels;
  unsigned repeat;
  page_wish pages;
  std::optional<std::uint64_t> array_bytes;  ///< none: four times the caches, at most what fits
};

/// The measurements for a plan, not yet made: pairs in row-major order, then the patterns. Notes what had to be made
/// smaller in plan::notes; given sizes that don't fit are plan::error.
[[nodiscard]] std::vector<bandwidth_figure> list_measurements(plan& p, const bandwidth_wishes& wishes);

/// Called before each measurement with its place and their number, and with what it is.
using progress = std::function<void(std::size_t, std::size_t, const std::string&)>;

/// Carries them out, one after the other. Errors: as measure_stream().
void measure_all(const plan& p, const bandwidth_wishes& wishes, std::vector<bandwidth_figure>& figures,
                 const progress& report);

/// "CPU node 0, memory node 1"; "all-to-one, memory node 1"; "all-local".
[[nodiscard]] std::string label_of(const plan& p, const bandwidth_figure& figure);

}  // namespace homing::measure
