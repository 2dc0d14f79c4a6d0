/// What the subcommands of `homing` share: exit codes, and how they are found.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace homing::cli {

/// Exit codes. `run` keeps the program's own and, as shells and timeout(1) do, uses 125 to 127 for
/// what went wrong before the program ran.
enum exit_code : int {
  exit_ok = 0,
  exit_failure = 1,
  exit_usage = 2,
  exit_run_failed = 125,
  exit_not_executable = 126,
  exit_not_found = 127,
};

/// The words after the subcommand's name.
using arguments = std::vector<std::string>;

/// One line on stderr, "homing: " in front.
void complain(const std::string& text);

/// What is wrong with a word that is none: for complain(), before the help to see.
inline constexpr const char* empty_word =
    "a word is empty, perhaps that of a shell variable that is not set; give one, or leave it out";

/// A built-in subcommand.
struct subcommand {
  const char* name;
  const char* purpose;  ///< one line
  int (*call)(const arguments&);
  /// Answers for the machine that the environment names: a variable that was refused is a failure, whatever was shown.
  bool needs_valid_variables = false;
};
/// All of them, in the order of the help: cli/main.cpp.
[[nodiscard]] std::span<const subcommand> subcommands();

/// What `homing lab` is for: a program of its own that comes with the command, and describes its words itself.
inline constexpr const char* lab_purpose = "boot virtual NUMA machines and count who serves each access";
/// Likewise of `homing experiment`.
inline constexpr const char* experiment_purpose = "run designed experiments, and analyse what they gave";

/// Each in the folder of its name.
int topology_command(const arguments& args);
int bandwidth_command(const arguments& args);
int latency_command(const arguments& args);
int doctor_command(const arguments& args);
int where_command(const arguments& args);
int run_command(const arguments& args);
int completions_command(const arguments& args);
int manual_command(const arguments& args);
/// `homing X` for a program homing-X that came with the command or is on PATH. Returns only if there is none:
/// cli/external/command.cpp.
int external_command(const std::string& name, const arguments& args);

}  // namespace homing::cli
