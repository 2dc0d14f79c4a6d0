/// What the scheduler does for as long as the process lives: its machine, and what the environment chose.
///
/// Threads: values; made once by the resource manager.
#pragma once

#include <chrono>

#include "runtime/settings/steal_policy.hpp"
#include "topology/machine.hpp"

namespace homing::scheduler {

struct scheduler_settings {
  const topology::machine& machine;
  unsigned domain_count = 1;
  bool has_l3_groups = false;                ///< some domain has several
  std::chrono::nanoseconds search_budget{};  ///< how long a thread looks for work before it sleeps
  steal_policy steal = steal_policy::near;   ///< HOMING_STEAL
  idle_rule mailbox_idle = idle_rule::homing;
  bool pins_external_threads = false;  ///< HOMING_PIN_MASTERS
};

/// As the machine and the environment are now.
[[nodiscard]] scheduler_settings read_settings();

}  // namespace homing::scheduler
