/// CLI11 behind one call, with our exit codes.
#pragma once

#include <CLI/CLI.hpp>

#include "command.hpp"

namespace homing::cli {

/// Parses `args`. Returns true if the command shall go on; otherwise `result` is the exit code:
/// help was printed on stdout (0), or what was wrong on stderr (`usage`).
[[nodiscard]] bool parse(CLI::App& app, arguments args, int usage, int& result);

/// Gives the help of `app` our shape: purpose, usage, options, examples.
void shape_help(CLI::App& app, const std::string& usage, const std::string& examples);

}  // namespace homing::cli
