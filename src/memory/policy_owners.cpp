#include "memory/policy_owners.hpp"

namespace homing::memory {

using platform::address_range;

policy_owners::owner policy_owners::take(std::span<const address_range> ranges) {
  const std::lock_guard hold(lock_);
  const owner taker = ++owners_;
  std::size_t taken = 0;
  try {
    for (; taken < ranges.size(); ++taken) ranges_.assign(ranges[taken], taker);
  } catch (...) {
    for (std::size_t i = 0; i < taken; ++i) ranges_.erase(ranges_.find(ranges[i].first));
    throw;
  }
  return taker;
}

std::optional<address_range> policy_owners::give_up(address_range inside, owner whose) noexcept {
  const std::lock_guard hold(lock_);
  for (auto at = ranges_.find(inside.first); at != ranges_.end() && at->first < inside.last; ++at) {
    if (at->second.value != whose) continue;
    const address_range given{at->first, at->second.last};
    ranges_.erase(at);
    return given;
  }
  return std::nullopt;
}

const platform::fork_part policy_owners::over_fork_(
    platform::fork_layer::memory, [] { process_policy_owners().lock_.lock(); },
    [] { process_policy_owners().lock_.unlock(); }, [] { process_policy_owners().lock_.unlock(); });

policy_owners& process_policy_owners() {
  static policy_owners* const owners = new policy_owners;  // never destroyed: ranges may outlive static objects
  return *owners;
}

}  // namespace homing::memory
