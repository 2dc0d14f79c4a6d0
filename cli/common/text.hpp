/// Text of other programs, such as names of processes, files and control groups, made fit for where it is shown.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace homing::cli {

/// For a line of text: UTF-8, with U+FFFD for other bytes and '?' for each control character, which a terminal would
/// obey and which would end a table's row.
[[nodiscard]] std::string printable(const std::string& text);

/// The same in quotes, for CSV.
[[nodiscard]] std::string quoted(const std::string& text);

/// The same for XML.
[[nodiscard]] std::string xml_text(const std::string& text);

/// A text of JSON, whose strings may hold any bytes: those that are no UTF-8 become U+FFFD. `indent`: spaces a level;
/// -1: all in one line.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value, int indent = 2);

}  // namespace homing::cli
