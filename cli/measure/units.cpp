#include "measure/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace homing::measure {
namespace {

constexpr double bytes_max = 1ULL << 50;

constexpr std::array<std::pair<std::string_view, double>, 18> units{{
    {"", 1},
    {"B", 1},
    {"K", 0x1p10},
    {"KiB", 0x1p10},
    {"k", 0x1p10},
    {"kB", 1e3},
    {"KB", 1e3},
    {"M", 0x1p20},
    {"MiB", 0x1p20},
    {"m", 0x1p20},
    {"MB", 1e6},
    {"G", 0x1p30},
    {"GiB", 0x1p30},
    {"g", 0x1p30},
    {"GB", 1e9},
    {"T", 0x1p40},
    {"TiB", 0x1p40},
    {"TB", 1e12},
}};

}  // namespace

parsed<std::uint64_t> parse_size(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const bool is_number = error == std::errc{} && text.front() >= '0' && text.front() <= '9' && *(end - 1) != '.';
  for (const auto& [name, factor] : units) {
    if (!is_number || unit != name) continue;
    const double bytes = number * factor;
    if (bytes < 1 || bytes > bytes_max) return {0, "a size lies between 1 byte and 1024 TiB"};
    return {static_cast<std::uint64_t>(std::llround(bytes)), ""};
  }
  return {0, "not a size; write for example 64M (MiB), 64MB or 1.5G"};
}

parsed<unsigned> parse_count(std::string_view text, unsigned least, unsigned most) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    return {0, fmt::format("not a whole number from {} to {}", least, most)};
  }
  return {value, ""};
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array names{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == std::floor(value);
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, names[unit]);
}

}  // namespace homing::measure
