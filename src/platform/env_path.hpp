/// A path in the environment, noted while the library is loaded, and complete: a program may change its environment and
/// its folder later.
#pragma once

#include <climits>
#include <cstddef>
#include <string_view>

#include "platform/env.hpp"

namespace homing::platform {

/// Ownership: a copy. Threads: any, once it is made. Errors: those of env(); a path stays as it is where the folder is
/// gone, for nothing is there to be found.
class env_path {
 public:
  /// `is_path` is asked about a relative value: one that is something else, such as a word, stays as it is.
  explicit env_path(const char* name, bool (*is_path)(const char* value)) noexcept;

  [[nodiscard]] bool is_given() const noexcept { return text_[0] != '\0'; }
  /// Empty if it is not given.
  [[nodiscard]] const char* c_str() const noexcept { return text_; }
  /// The variable's value at that time.
  [[nodiscard]] std::string_view value() const noexcept { return text_ + value_at_; }

 private:
  std::size_t value_at_ = 0;  // behind the folder
  char text_[PATH_MAX + env_length_max + 1];
};

}  // namespace homing::platform
