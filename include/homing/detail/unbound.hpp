/// What is said when a pinned section could not be bound to its domain.
#pragma once

#include <homing/export.hpp>

namespace homing::detail {

/// One line on stderr, the first time in a process. `error_number`: the errno of the refusal. Threads: any.
HOMING_API void tell_unbound(int error_number) noexcept;

}  // namespace homing::detail
