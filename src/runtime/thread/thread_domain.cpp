#include "runtime/thread/thread_domain.hpp"

#include <algorithm>
#include <new>

#include "platform/env.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

domain_index domain_of_this_thread(const scheduler_settings& settings) noexcept {
  if (settings.domain_count == 1) {
    if (this_thread_or_null != nullptr) {
      this_thread_or_null->domain_is_fixed = true;
    }
    return domain_index{0};
  }
  const auto here = settings.machine.domain_of_cpu(static_cast<topology::cpu_id>(platform::current_cpu()));
  if (here) {
    return *here;
  }
  // A made-up machine, or a CPU outside the allowed ones: by turns, so that application threads spread, and for good.
  thread_state* known = this_thread_or_null;
  if (known == nullptr) {
    try {
      known = &this_thread();
    } catch (const std::bad_alloc&) {
      return domain_index{0};  // nothing can be kept for it: it is asked again
    }
  }
  thread_state& t = *known;
  if (!t.domain_is_fixed) {
    static sync::atomic<unsigned> turn{0};
    t.move_to_domain(domain_index{turn.fetch_add(1, sync::relaxed) % settings.domain_count}, settings.domain_count);
    t.domain_is_fixed = true;
  }
  return t.domain;
}

domain_index present_domain(const scheduler_settings& settings) noexcept {
  if (this_thread_or_null != nullptr) {
    return domain_of_this_thread(settings);
  }
  const auto here = settings.machine.domain_of_cpu(static_cast<topology::cpu_id>(platform::current_cpu()));
  return here.value_or(domain_index{0});
}

std::uint16_t l3_group_of_this_thread(const scheduler_settings& settings, domain_index domain) noexcept {
  const auto cpu = static_cast<topology::cpu_id>(platform::current_cpu());
  const auto& groups = settings.machine.domains()[to_index(domain)].l3_groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (std::find(groups[g].begin(), groups[g].end(), cpu) != groups[g].end()) {
      return static_cast<std::uint16_t>(g);
    }
  }
  return 0;
}

}  // namespace homing::scheduler
