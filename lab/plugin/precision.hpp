/// How far apart the CPUs' clocks may be, which is how exact the order of what they do to each other is.
///
/// Finer is truer and, for programs whose CPUs hardly meet, no better; what a wait costs the host limits it.
/// Source: docs/protocols/lab_model.md [LM7].
#pragma once

#include <cstdint>

#include "units.hpp"

namespace homing::lab::model {

struct precision {
  static constexpr std::uint64_t least_cycles = 100, most_cycles = 1000000;

  std::uint64_t quantum_cycles = 1000;  // who is farther ahead of the slowest waits

  [[nodiscard]] ticks quantum() const noexcept { return quantum_cycles * ticks_per_cycle; }
  /// How often a CPU looks where the others are.
  [[nodiscard]] ticks look() const noexcept { return quantum() / 2; }
};

}  // namespace homing::lab::model
