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
  unsigned own_cpus = 0;               ///< so many threads need share no CPU with each other; none on a made-up machine
  bool pins_external_threads = false;  ///< HOMING_PIN_MASTERS
};

/// How long one of so many threads looks. Where each has a CPU, however many there are: one that sleeps early comes
/// late to the next loop. Those of a made-up machine share CPUs and look by turns, so that it is CPUs that look, not
/// threads: all together a few milliseconds at most. Where threads outnumber CPUs, one that sleeps early leaves its CPU
/// idle while others wait for theirs, which the kernel mends no sooner than at its next tick (`make bench`: sanity at 8
/// threads on 2 CPUs).
[[nodiscard]] std::chrono::nanoseconds search_budget_for(unsigned threads, bool share_cpus) noexcept;

/// How long one that has looked so long waits for the end of a serial part, if the last one was over by then. Stock
/// oneTBB's threads look for a millisecond, on 2 CPUs and on a modelled machine of 16. Threads that share CPUs wait
/// for a shorter time, as they look.
[[nodiscard]] constexpr std::chrono::nanoseconds wait_in_serial_part(std::chrono::nanoseconds search_budget) noexcept {
  return 3 * search_budget;
}

/// As the machine and the environment are now.
[[nodiscard]] scheduler_settings read_settings();

}  // namespace homing::scheduler
