#include "runtime/workers/lease_book.hpp"

#include <homing/detail/deal_threads.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include "platform/check.hpp"
#include "sync/atomic.hpp"

namespace homing::scheduler {
namespace {

std::uint32_t without(std::uint32_t from, std::uint32_t taken) noexcept { return from > taken ? from - taken : 0; }

}  // namespace

std::uint64_t lease_book::take(const lease_wish& wish, const lessee& who, const worker_supply& supply) {
  // In the child of a fork it goes on where it was: a lease of before the fork finds nothing there. relaxed: only that
  // the numbers differ matters; what they name is the manager's lock's.
  static sync::atomic<std::uint64_t> last{0};
  leases_.reserve(leases_.size() + 1);
  leases_.push_back({last.fetch_add(1, sync::relaxed) + 1, wish, who, domain_counts(leased_.size(), 0)});
  try {
    deal(leases_.back(), supply);
  } catch (...) {
    leases_.pop_back();
    throw;
  }
  return leases_.back().number;
}

bool lease_book::renew(std::uint64_t number, const lessee& who, const worker_supply& supply) {
  const auto found = std::find_if(leases_.begin(), leases_.end(), [&](const record& r) { return r.number == number; });
  if (found == leases_.end()) {
    return false;
  }
  const lessee before = std::exchange(found->who, who);
  try {
    deal(*found, supply);
  } catch (...) {
    found->who = before;
    throw;
  }
  return true;
}

bool lease_book::end(std::uint64_t number) noexcept {
  const auto found = std::find_if(leases_.begin(), leases_.end(), [&](const record& r) { return r.number == number; });
  if (found == leases_.end()) {
    return false;
  }
  for (std::size_t d = 0; d < leased_.size(); ++d) {
    platform::require(leased_[d] >= found->workers[d], "A13: each lease is counted");
    leased_[d] -= found->workers[d];
  }
  leases_.erase(found);
  return true;
}

const domain_counts* lease_book::find(std::uint64_t number) const noexcept {
  const auto found = std::find_if(leases_.begin(), leases_.end(), [&](const record& r) { return r.number == number; });
  return found == leases_.end() ? nullptr : &found->workers;
}

std::uint32_t lease_book::leased_total() const noexcept {
  return std::accumulate(leased_.begin(), leased_.end(), std::uint32_t{0});
}

// What the lease would have if all were dealt anew: one worker each in turn, the oldest first.
std::uint32_t lease_book::fair_share(const record& of, const worker_supply& supply) const {
  domain_counts left = supply.allowed;
  for (const record& r : leases_) {
    if (r.who.is_worker) {
      left[r.who.domain] = without(left[r.who.domain], 1);
    }
  }
  std::vector<std::uint32_t> shares(leases_.size(), 0);
  for (bool dealt = true; dealt;) {
    dealt = false;
    for (std::size_t i = 0; i < leases_.size(); ++i) {
      const lease_wish& wish = leases_[i].wish;
      std::uint32_t* most = nullptr;
      for (std::size_t d = 0; d < left.size(); ++d) {
        if (wish.domains[d] && left[d] != 0 && (most == nullptr || left[d] > *most)) {
          most = &left[d];
        }
      }
      if (most != nullptr && shares[i] != wish.workers_max) {
        --*most;
        ++shares[i];
        dealt = true;
      }
    }
  }
  return shares[static_cast<std::size_t>(&of - leases_.data())];
}

void lease_book::deal(record& to, const worker_supply& supply) {
  const std::size_t domains = leased_.size();
  const std::uint32_t share = fair_share(to, supply);
  domain_counts left(domains, 0);
  domain_counts dealt(domains, 0);
  for (std::size_t d = 0; d < domains; ++d) {
    if (!to.wish.domains[d]) {
      continue;
    }
    const std::uint32_t others = leased_[d] - to.workers[d];
    left[d] = without(supply.allowed[d], others);
    if (to.wish.from == lease_wish::source::idle) {
      left[d] = without(left[d], supply.active[d]);
    }
  }
  if (to.wish.from == lease_wish::source::any) {
    for (const record& r : leases_) {
      if (r.who.is_worker) {
        left[r.who.domain] = without(left[r.who.domain], 1);
      }
    }
  }
  dealt[to.who.domain] = 1;  // the asking thread
  detail::deal_threads(share, supply.cpus, left, dealt);
  --dealt[to.who.domain];
  for (std::size_t d = 0; d < domains; ++d) {
    leased_[d] += dealt[d] - to.workers[d];
  }
  to.workers = std::move(dealt);
}

}  // namespace homing::scheduler
