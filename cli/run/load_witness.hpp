/// Whether a program that we started really loaded our libtbb.so.12: the library says so itself, so that no /proc is
/// needed.
#pragma once

#include <string>

#include "run/private_file.hpp"

namespace homing::cli {

/// An empty file in a folder that only this user can enter, named to the program by the variable HOMINGRUN. Each
/// process that loads our library adds its number. Both are removed with this object.
class load_witness {
 public:
  /// Sets the variable. Errors: `problem()`, and then nothing is set and nobody is asked.
  load_witness();

  [[nodiscard]] const std::string& problem() const noexcept { return file_.problem(); }
  /// Whether a process has loaded it so far.
  [[nodiscard]] bool has_seen() const;

 private:
  private_file file_;
};

}  // namespace homing::cli
