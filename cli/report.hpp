/// The runtime's report (HOMING_REPORT) as a table for people.
#pragma once

#include <string>

namespace homing::cli {

/// `content`: what programs wrote, one JSON object a process, one after the other; several are summed.
/// Returns the table, or a line that says why there is none. Figures that are missing are "not measured".
[[nodiscard]] std::string report_table(const std::string& content);

}  // namespace homing::cli
