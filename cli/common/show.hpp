/// A look at a process, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "common/process.hpp"

namespace homing::cli {

enum class detail { most, all };

/// A table: kinds of memory by node, then threads by node. `most` shows the largest mappings and sums up the rest.
[[nodiscard]] std::string look_table(const process_look& look, detail how_much);
[[nodiscard]] nlohmann::ordered_json look_json(const process_look& look);
/// A line for each group of mappings and node that holds pages of it.
[[nodiscard]] std::string look_csv(const process_look& look);

/// "1.5 GiB"; whole bytes below 1 KiB.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace homing::cli
