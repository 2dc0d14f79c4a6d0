#include "runtime/settings/scheduler_settings.hpp"

#include <algorithm>

#include "platform/env.hpp"

namespace homing::scheduler {

std::chrono::nanoseconds search_budget_for(unsigned threads, bool share_cpus) noexcept {
  constexpr std::chrono::nanoseconds of_one = std::chrono::microseconds(250);
  constexpr std::chrono::nanoseconds of_all = std::chrono::milliseconds(4);
  return share_cpus ? std::min(of_one, of_all / std::max(threads, 1U)) : of_one;
}

scheduler_settings read_settings() {
  const topology::machine& machine = topology::process_machine();
  const auto& domains = machine.domains();
  return {
      .machine = machine,
      .domain_count = static_cast<unsigned>(domains.size()),
      .has_l3_groups =
          std::any_of(domains.begin(), domains.end(), [](const topology::domain& d) { return d.l3_groups.size() > 1; }),
      .search_budget = search_budget_for(machine.default_concurrency(), machine.is_virtual()),
      .steal = platform::env_choice<steal_policy>(
          "HOMING_STEAL",
          {{"near", steal_policy::near}, {"random", steal_policy::random}, {"domain", steal_policy::domain}},
          steal_policy::near),
      .mailbox_idle = platform::env_choice<idle_rule>(
          "HOMING_MAILBOX_IDLE", {{"tbb", idle_rule::tbb}, {"homing", idle_rule::homing}, {"paper", idle_rule::paper}},
          idle_rule::homing),
      .own_cpus = machine.is_virtual() ? 0 : machine.default_concurrency(),
      .pins_external_threads = platform::env_flag("HOMING_PIN_MASTERS", false),
  };
}

}  // namespace homing::scheduler
