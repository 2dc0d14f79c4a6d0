/// How a programmer's error ends: one line that says what to do, then abort().
#pragma once

#include <homing/export.hpp>

namespace homing::detail {

/// Prints "homing: FUNCTION: MESSAGE" on stderr and aborts. Not constexpr, on purpose: in a constant expression the
/// error is the compiler's to report.
[[noreturn]] HOMING_API void programmers_error(const char* function, const char* message) noexcept;

/// An assertion that stays in release builds: for paths where it costs nothing that matters.
constexpr void expects(bool condition, const char* function, const char* message) noexcept {
  if (!condition) [[unlikely]] {
    programmers_error(function, message);
  }
}

}  // namespace homing::detail
