/// How far a thief goes, and what it leaves to others.
#pragma once

#include <cstdint>

namespace homing::scheduler {

/// Outwards; anywhere, the paper's choice of a random victim; or never out of its domain. As HOMING_STEAL says, or an
/// arena's own. The values are those of <homing/steal_policy.hpp>.
enum class steal_policy : std::uint8_t { near, random, domain };

/// When thieves leave an affinitized task to its mailbox: HOMING_MAILBOX_IDLE. By figure 9 as long as they have
/// patience, as upstream does also while nobody is there to take it, or by figure 9 word for word, without end.
enum class idle_rule : std::uint8_t { homing, tbb, paper };

}  // namespace homing::scheduler
