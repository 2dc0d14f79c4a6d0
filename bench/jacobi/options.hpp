// The command line: what to run, how large, on how many threads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lattice.hpp"
#include "variants.hpp"

namespace jacobi {

struct options {
  std::vector<const variant*> wanted;  ///< never empty
  extents sites;
  extents block;
  int threads;
  int sweeps = 4;  ///< in a repetition
  int repetitions = 3;
  bool pin = true;
  bool check = true;
  bool json = false;
  std::string label;  ///< of the lab's region; empty: the variant's name
};

/// Reads the command line. --help and --list print and end the process with 0; bad input gives one line on stderr and
/// ends it with 2.
[[nodiscard]] options parse(int argc, char** argv);

}  // namespace jacobi
