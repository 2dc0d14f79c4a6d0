/// How far a thief goes: outwards; anywhere, the paper's choice of a random victim; or never out of its domain.
#pragma once

#include <cstdint>

namespace homing::scheduler {

/// As HOMING_STEAL says, or an arena's own. The values are those of <homing/steal_policy.hpp>.
enum class steal_policy : std::uint8_t { near, random, domain };

}  // namespace homing::scheduler
