/// Small files of /proc and /sys, read whole and with a bound.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace homing::platform {

/// The whole content of `path`; nothing if it can't be read or holds more than `bytes_max`.
/// Why it can't be read does not matter to the callers: each treats the fact as unknown.
/// Errors: std::bad_alloc.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path, std::size_t bytes_max = 65536);

/// The same into the caller's room, which it must be shorter than; the text is in there. Allocates nothing.
[[nodiscard]] std::optional<std::string_view> read_file(const char* path, std::span<char> room) noexcept;

/// As std::getline(), which takes want of memory for the end of the file. Errors: std::bad_alloc.
[[nodiscard]] bool read_line(std::istream& file, std::string& line);

}  // namespace homing::platform
