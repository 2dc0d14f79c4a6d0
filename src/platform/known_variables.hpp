/// The names of all environment variables of ours, and a word on those that look like one and are none.
#pragma once

#include <string_view>

namespace homing::platform {

/// Whether a part of this project reads it.
[[nodiscard]] bool is_known_variable(std::string_view name) noexcept;

/// The known name with the fewest letters to change; empty if none is close.
[[nodiscard]] std::string_view nearest_variable(std::string_view name) noexcept;

/// One line on stderr for each variable HOMING_... of the environment that nobody reads, with the nearest name. Only
/// the first call in each copy of the library looks. Nothing in a set-user-ID program, which reads none.
void warn_of_unknown_variables() noexcept;

}  // namespace homing::platform
