// The command line of all programs.
#pragma once

#include <span>
#include <vector>

#include "driver.hpp"

namespace programs {

enum class output { table, json, csv };

struct options {
  std::vector<const variant*> wanted;  ///< never empty
  request what;
  output form = output::table;
};

/// --help and --list print and end the process with 0; bad input gives one line on stderr and ends it with 2.
[[nodiscard]] options parse(int argc, char** argv, const description& program, std::span<const variant> variants);

}  // namespace programs
