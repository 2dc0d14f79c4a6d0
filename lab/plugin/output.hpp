/// The plugin's result, counts.json: what was counted in each region, for `homing lab` and its reports.
///
/// Threads: one at a time. Errors: write_counts() returns what went wrong as a line; empty if all is well.
/// Source:  docs/design/0006-the-lab.md, "The result".
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "machine.hpp"
#include "memory_map.hpp"
#include "memory_system.hpp"
#include "precision.hpp"
#include "regions.hpp"

namespace homing::lab::model {

struct calibration {
  bool done = false;
  std::string error;  // why not, if it was tried
  std::uint64_t pages_learnt = 0, pages_checked = 0;
};

/// The document, as text. Without a model there are no regions. `regions_left_out`: begun without room.
[[nodiscard]] std::string counts_document(const machine& m, const precision& p, const calibration& c,
                                          const memory_map& map, const memory_system* model,
                                          const std::vector<region_total>& regions, std::uint64_t regions_left_out);

/// Writes a whole file or leaves the old one.
[[nodiscard]] std::string write_counts(const std::filesystem::path& file, const std::string& document);

}  // namespace homing::lab::model
