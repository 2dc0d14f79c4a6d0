/// Sizes and counts as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace homing::measure {

/// What was typed, or why it can't be understood: one clause for people, to put behind the option's name.
template <class T>
struct parsed {
  T value{};
  std::string error{};
};

/// "64M", "64MiB", "1.5G", "100MB", "4096": K, M, G and T are powers of 1024, with or without "iB"; kB, MB, GB and TB
/// are powers of 1000; no unit is bytes. Strict: no blanks, no sign, nothing behind it.
[[nodiscard]] parsed<std::uint64_t> parse_size(std::string_view text);
/// A whole number from `least` to `most`.
[[nodiscard]] parsed<unsigned> parse_count(std::string_view text, unsigned least, unsigned most);
/// "128 MiB", "1.5 GiB", "100 B".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace homing::measure
