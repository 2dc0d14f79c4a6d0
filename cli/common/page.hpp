/// A subcommand's description as data: what help, completions and manual pages are made of.
#pragma once

#include <string>
#include <vector>

#include "common/command.hpp"

namespace homing::cli {

struct option_page {
  std::vector<std::string> names;    ///< "-i", "--interleave"; empty: a word without a name
  std::string value;                 ///< what stands after it, for people; empty: nothing
  std::vector<std::string> choices;  ///< the values it takes, if they are few
  std::string text;
  bool value_is_joined = false;  ///< the value may be left out: --report, or --report=FILE
};

struct command_page {
  std::string name;  ///< "homing topology"
  std::string description;
  std::string usage;
  std::string examples;
  std::string exit_codes;
  std::vector<option_page> options;
};

/// Asks a built-in subcommand for its page, without running it: its words are not read.
[[nodiscard]] command_page page_of(const subcommand& command);

}  // namespace homing::cli
