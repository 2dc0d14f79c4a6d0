/// Runs one program in the guest as the runner asked, and relays its streams.
#pragma once

#include <string>
#include <vector>

#include "channel.hpp"

namespace homing::lab {

/// What the runner asked for, frame by frame.
struct request {
  std::vector<std::string> words{};        ///< the command-line, exactly
  std::vector<std::string> environment{};  ///< NAME=value, exactly
  std::string folder = "/";                ///< the working folder
  std::string home{};                      ///< a folder to make for the user, or empty
  unsigned user = 0;
  unsigned group = 0;
  bool terminal = false;  ///< a pseudo-terminal in place of three pipes
  unsigned rows = 24;
  unsigned columns = 80;
  bool calibrate = false;
};

/// How it ended.
struct outcome {
  int code = 0;         ///< of exit(), or 126 and 127 if it did not start
  int signal = 0;       ///< that killed it, or 0
  int start_error = 0;  ///< errno of exec, or 0
};

/// Returns when the program itself has ended; what it left running is killed. Its output goes out as frames of the
/// kinds 'O' and 'E', or all as `only` if that is not 0.
[[nodiscard]] outcome run_program(channel& runner, const request& wanted, char only = 0);

}  // namespace homing::lab
