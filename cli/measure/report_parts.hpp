/// What the reports of `bandwidth` and `latency` have in common: spreads, memory facts and notes.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "measure/machine_card.hpp"
#include "measure/placed_buffer.hpp"
#include "measure/plan.hpp"
#include "measure/spread.hpp"

namespace homing::measure {

/// "38123.4 (-2.0% +1.1%)": the median, and the lowest and highest run beside it.
[[nodiscard]] std::string spread_text(const spread& s);
/// "(-2.0% +1.1%)"
[[nodiscard]] std::string range_text(const spread& s);
[[nodiscard]] nlohmann::ordered_json spread_json(const spread& s);
[[nodiscard]] nlohmann::ordered_json memory_json(const memory_fact& fact);
/// The columns of memory_csv() and spread_csv(), in their order.
[[nodiscard]] std::string memory_csv_header();
[[nodiscard]] std::string memory_csv(const memory_fact& fact);
[[nodiscard]] std::string spread_csv_header();
[[nodiscard]] std::string spread_csv(const spread& s);

/// "pages: 4 KiB", "pages: huge, 384 MiB of 384 MiB", ...: what was asked for and what was got.
[[nodiscard]] std::string pages_text(const memory_fact& all, page_wish wish);
/// The lines of notes at the end, each with "note: " in front.
[[nodiscard]] std::string notes_text(const std::vector<std::string>& notes);
[[nodiscard]] std::vector<std::string> cpu_node_names(const plan& p);
/// A tier is marked.
[[nodiscard]] std::vector<std::string> memory_node_names(const plan& p);
/// The fields that begin each JSON object: version, command, machine, nodes, settings, notes.
[[nodiscard]] nlohmann::ordered_json heading_json(const char* command, const char* unit, const plan& p,
                                                  const machine_card& machine, unsigned repeat, page_wish pages);
/// "* not placed: ..." for each reason, of figures marked with an asterisk in text.
[[nodiscard]] std::string unplaced_text(const std::vector<std::string>& labels, const std::vector<memory_fact>& facts);

}  // namespace homing::measure
