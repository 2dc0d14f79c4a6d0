/// Leases: the manager allots as many fewer workers, domain by domain, while an application's own threads do their
/// work.
///
/// Protocol: docs/protocols/arena.md [A13].
#include <algorithm>
#include <utility>

#include "runtime/arena/arena.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {

worker_supply resource_manager::supply() const {
  worker_supply result{domain_counts(domain_count_, 0), domain_counts(domain_count_, 0),
                       domain_counts(domain_count_, 0)};
  for (const domain_index d : all_domains()) {
    result.cpus[to_index(d)] = state_of(d).usable.cpus;
    if (allowed_workers_.load(sync::relaxed) != 0) {
      result.allowed[to_index(d)] = static_cast<std::uint32_t>(state_of(d).planned.load(sync::relaxed));
    }
  }
  for (const worker_account* a = arenas_.first(); a != nullptr; a = a->next) {
    for (const domain_index d : all_domains()) {
      result.active[to_index(d)] +=
          static_cast<std::uint32_t>(std::max(0, a->owner.domain(d).active.load(sync::relaxed)));
    }
  }
  return result;
}

std::pair<std::uint64_t, domain_counts> resource_manager::take_lease(const lease_wish& wish, const lessee& who) {
  std::pair<std::uint64_t, domain_counts> result;
  arena_list grown;
  {
    const holder hold(*this);
    result.second.reserve(domain_count_);
    result.first = leases_.take(wish, who, supply());
    result.second = *leases_.find(result.first);
    allot_to_all();
    grown = take_to_call();
  }
  call_for(grown);
  return result;
}

std::optional<domain_counts> resource_manager::renew_lease(std::uint64_t number, const lessee& who) {
  std::optional<domain_counts> result;
  arena_list grown;
  {
    const holder hold(*this);
    result.emplace().reserve(domain_count_);
    if (!leases_.renew(number, who, supply())) {
      return std::nullopt;
    }
    result = *leases_.find(number);
    allot_to_all();
    grown = take_to_call();
  }
  call_for(grown);
  return result;
}

void resource_manager::end_lease(std::uint64_t number) noexcept {
  arena_list grown;
  {
    const holder hold(*this);
    if (!leases_.end(number)) {
      return;
    }
    allot_to_all();
    grown = take_to_call();
  }
  call_for(grown);
}

std::optional<bool> resource_manager::is_crowded(std::uint64_t number) noexcept {
  const holder hold(*this);
  if (leases_.find(number) == nullptr) {
    return std::nullopt;
  }
  for (const worker_account* a = arenas_.first(); a != nullptr; a = a->next) {
    for (const domain_index d : all_domains()) {
      if (a->owner.domain(d).active.load(sync::relaxed) > a->owner.domain(d).allotted.load(sync::relaxed)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace homing::scheduler
