#include "runtime/settings/scheduler_settings.hpp"

#include <algorithm>

#include "platform/env.hpp"

namespace homing::scheduler {
namespace {

/// Where each thread has a CPU, however many there are: one that sleeps early comes late to the next loop. A made-up
/// machine's threads share CPUs and look by turns, so that it is CPUs that look, not threads: all together a few
/// milliseconds at most. Where threads outnumber CPUs, one that sleeps early leaves its CPU idle while others wait for
/// theirs, which the kernel mends no sooner than at its next tick (`make bench`: sanity at 8 threads on 2 CPUs).
std::chrono::nanoseconds search_budget_on(const topology::machine& machine) noexcept {
  constexpr std::chrono::nanoseconds of_one = std::chrono::microseconds(250);
  constexpr std::chrono::nanoseconds of_all = std::chrono::milliseconds(4);
  return machine.is_virtual() ? std::min(of_one, of_all / std::max(machine.default_concurrency(), 1U)) : of_one;
}

}  // namespace

scheduler_settings read_settings() {
  const topology::machine& machine = topology::process_machine();
  const auto& domains = machine.domains();
  return {
      .machine = machine,
      .domain_count = static_cast<unsigned>(domains.size()),
      .has_l3_groups =
          std::any_of(domains.begin(), domains.end(), [](const topology::domain& d) { return d.l3_groups.size() > 1; }),
      .search_budget = search_budget_on(machine),
      .steal = platform::env_choice<steal_policy>(
          "HOMING_STEAL",
          {{"near", steal_policy::near}, {"random", steal_policy::random}, {"domain", steal_policy::domain}},
          steal_policy::near),
      .mailbox_idle = platform::env_choice<idle_rule>(
          "HOMING_MAILBOX_IDLE", {{"tbb", idle_rule::tbb}, {"homing", idle_rule::homing}, {"paper", idle_rule::paper}},
          idle_rule::homing),
      .pins_external_threads = platform::env_flag("HOMING_PIN_MASTERS", false),
  };
}

}  // namespace homing::scheduler
