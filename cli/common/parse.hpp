/// CLI11 behind one call, with our exit codes.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "common/command.hpp"

namespace homing::cli {

/// What the exit codes of most subcommands mean.
inline constexpr const char* usual_exit_codes =
    "  0    done\n"
    "  1    it failed, or a variable was not valid; one line on stderr says why\n"
    "  2    wrong usage\n";

/// What --topology takes.
inline constexpr const char* machine_expected =
    "; expected a machine such as \"node:4 core:2 pu:1\", or an hwloc XML file";

/// Parses `args`. Returns true if the command shall go on; otherwise `result` is the exit code:
/// help was printed on stdout (0), or what was wrong on stderr (`usage`).
/// When page_of() asks, it is given the description, and the command does not go on either.
[[nodiscard]] bool parse(CLI::App& app, arguments args, int usage, int& result);

/// What the word `flag`=VALUE gives a flag that may have a value, such as --report; nothing if there is no such word.
/// CLI11 can't tell --report=true from --report.
[[nodiscard]] std::optional<std::string> joined_value(const arguments& words, const std::string& flag);

/// Gives the help of `app` our shape: purpose, usage, options, examples, exit codes.
void shape_help(CLI::App& app, const std::string& usage, const std::string& examples,
                const std::string& exit_codes = usual_exit_codes);

}  // namespace homing::cli
