/// The files of a run: those that its options name, and one for a report that is shown.
#pragma once

#include <optional>
#include <string>

#include "run/private_file.hpp"

namespace homing::cli {

/// As the options name them; empty: not asked for.
struct run_files {
  std::string trace{};
  std::string report{};
  std::string svg{};
};

/// For a program that is about to start: an earlier run's traces and report go, and HOMING_TRACE and HOMING_REPORT name
/// the files behind all symbolic links. Returns an error that names the option, before any file has changed.
[[nodiscard]] std::optional<std::string> prepare(const run_files& files);

/// An empty file, named by HOMING_REPORT, for a report that is shown. Gone with this object.
class temporary_report {
 public:
  /// Errors: std::runtime_error.
  temporary_report();
  /// What processes have written. Errors: std::runtime_error if it is too much to be shown.
  [[nodiscard]] std::string content() const;

 private:
  private_file file_;
};

}  // namespace homing::cli
