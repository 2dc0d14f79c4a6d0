/// The locality report of a run: what the runtime wrote (HOMING_REPORT), summed over processes, with what was seen from
/// outside.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/process.hpp"
#include "run/traffic.hpp"

namespace homing::cli {

/// Seen by the one who started the program.
struct outside_view {
  std::optional<process_look> fullest{};  ///< of the program itself, when it had most in memory
  traffic_result traffic{};
};

struct [[nodiscard]] run_report {
  std::optional<nlohmann::ordered_json> value;  ///< nothing: `error` says why
  std::string error{};
};

/// `content`: what programs wrote, one JSON object a process, one after the other. A figure that no process gives is
/// null: it was not measured.
run_report sum_report(const std::string& content, const outside_view& outside);

/// For people. Figures that are null are "not measured".
[[nodiscard]] std::string report_table(const nlohmann::ordered_json& report);
/// Lines of figure and value; a value that was not measured is empty.
[[nodiscard]] std::string report_csv(const nlohmann::ordered_json& report);
/// A picture: tasks by home and by domain that ran them, pages by node. `program` is named in its title.
[[nodiscard]] std::string report_svg(const nlohmann::ordered_json& report, const std::string& program);

}  // namespace homing::cli
