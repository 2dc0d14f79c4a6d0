/// Small files of /proc and /sys, read whole and with a bound.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace homing::platform {

/// The whole content of `path`; nothing if it can't be read or holds more than `bytes_max`.
/// Why it can't be read does not matter to the callers: each treats the fact as unknown.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path, std::size_t bytes_max = 65536);

}  // namespace homing::platform
