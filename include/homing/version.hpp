/// Which Homing this is: in these headers, and in the library that is loaded.
#pragma once

#include <homing/export.hpp>

// The one home of the version number: the build reads it from here.
#define HOMING_VERSION_MAJOR 0
#define HOMING_VERSION_MINOR 1
#define HOMING_VERSION_PATCH 0

namespace homing {

/// The version of the loaded library, for example "0.1.0": a static string, never null.
/// Threads: any. Errors: none.
[[nodiscard]] HOMING_API const char* version() noexcept;

}  // namespace homing
