/// How far a thief goes, and what it leaves to others.
#pragma once

#include <cstdint>

namespace homing::scheduler {

/// Outwards; anywhere, the paper's choice of a random victim; or never out of its domain. As HOMING_STEAL says, or an
/// arena's own. The values are those of <homing/steal_policy.hpp>.
enum class steal_policy : std::uint8_t { near, random, domain };

/// When thieves leave a task with an affinity to its mailbox: HOMING_MAILBOX_IDLE. While a thread of its home searches,
/// and for some rounds while one may come; as oneTBB does, also while nobody of its home is there; or by figure 9 of
/// TBB-NUMA, also while fewer are there than allotted. docs/protocols/mailbox.md [M9].
enum class idle_rule : std::uint8_t { homing, tbb, paper };

}  // namespace homing::scheduler
