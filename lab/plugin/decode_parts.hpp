/// What the decoders of all architectures use: lists of registers that have room for few, and prefixes of mnemonics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "micro_op.hpp"

namespace homing::lab::model {

[[nodiscard]] inline bool begins(std::string_view text, std::initializer_list<std::string_view> with) {
  return std::any_of(with.begin(), with.end(), [&](std::string_view w) { return text.starts_with(w); });
}

/// Adds a register to a list that has room; a source too many is left out.
template <class List>
void add(List& list, std::uint8_t which, std::uint8_t empty) {
  if (which == registers::none || std::find(list.begin(), list.end(), which) != list.end()) return;
  const auto free = std::find(list.begin(), list.end(), empty);
  if (free != list.end()) *free = which;
}

}  // namespace homing::lab::model
