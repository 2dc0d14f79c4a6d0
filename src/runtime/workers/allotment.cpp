#include "runtime/workers/allotment.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "platform/check.hpp"

namespace homing::scheduler {

// One by one, each worker would go where the quotient is smallest. No domain gets fewer so than its part of all,
// rounded down: where the caller is, of all and the caller, who is one of them. So those are dealt at once.
void deal_workers(unsigned count, std::span<domain_supply> domains) noexcept {
  std::uint64_t cpus = 0;
  for (const domain_supply& d : domains) {
    cpus += d.cpus;
  }
  const auto threads = [](const domain_supply& d) { return static_cast<std::uint64_t>(d.planned) + d.has_caller; };
  std::uint64_t left = count;
  for (domain_supply& d : domains) {
    const std::uint64_t part = cpus == 0 ? 0 : (std::uint64_t{count} + d.has_caller) * d.cpus / cpus;
    d.planned = static_cast<int>(part - std::min<std::uint64_t>(part, d.has_caller));
    left -= static_cast<std::uint64_t>(d.planned);
  }
  for (; left != 0; --left) {
    domain_supply* best = &domains.front();
    for (domain_supply& d : domains) {
      if ((threads(d) + 1) * best->cpus < (threads(*best) + 1) * d.cpus) {
        best = &d;
      }
    }
    ++best->planned;
  }
}

void allotment::reserve(std::size_t arenas) { portions_.reserve(arenas); }

void allotment::begin(std::span<const domain_supply> supply, unsigned allottable) noexcept {
  left_ = std::max(1U, allottable);
  only_mandatory_ = allottable == 0;
  has_losers_ = false;
  wants_more_ = false;
  portions_.clear();
  for (unsigned d = 0; d < domain_count(); ++d) {
    domain_state& state = domains_[d];
    // Below 0: the limit fell under the leases. [A13]
    state.dealt = supply[d].planned - (only_mandatory_ ? 0 : supply[d].leased);
    state.left = state.dealt;
    state.spare = spare_places(supply[d]);
    state.cpus = supply[d].cpus;
  }
}

// [A17] One worker fewer than CPUs is dealt, and under a low limit some domains get few; yet an arena of one domain is
// to be filled by workers alone. They move there, to its CPUs; how many there are in all stays as it is.
int allotment::spare_places(const domain_supply& supply) noexcept {
  if (supply.planned == 0) {
    return 0;  // its arenas get workers of other domains [A12]
  }
  const int places = std::max(supply.planned + (supply.has_caller ? 1 : 0), static_cast<int>(supply.cpus));
  return std::max(0, places - supply.planned - supply.leased);
}

bool allotment::is_homeless(std::span<const unsigned> cpus) const noexcept {
  for (unsigned d = 0; d < domain_count(); ++d) {
    if (cpus[d] != 0 && domains_[d].dealt > 0) {
      return false;
    }
  }
  return true;
}

bool allotment::gives_mandatory_only(std::span<const unsigned> cpus, bool is_of_one_domain) const noexcept {
  return only_mandatory_ || (is_of_one_domain && is_homeless(cpus));
}

void allotment::begin_level() noexcept {
  first_of_level_ = portions_.size();
  without_ = false;
}

void allotment::offer(const arena_demand& demand) noexcept {
  std::fill(demand.share.begin(), demand.share.end(), 0);
  const bool mandatory_only = gives_mandatory_only(demand.cpus, demand.is_of_one_domain);
  portion p{.of = demand, .wanted = mandatory_only ? 1 : std::max(demand.workers_max, 1U)};
  p.is_homeless = is_homeless(demand.cpus);
  if (p.is_homeless && demand.is_of_one_domain) {
    p.moves_to = domain_to_move_to(demand);
  }
  p.is_mandatory = mandatory_only || demand.workers_max == 0;
  if (!mandatory_only || demand.is_mandatory) {  // else not even those that it has [A12]
    if (!demand.has_more) {
      keep_workers(p);
    }
    give(p, 1);
  }
  if (p.given != 0 || p.spare != 0) {
    portions_.push_back(p);
  } else {
    without_ = without_ || !(p.is_homeless && demand.is_of_one_domain);
  }
}

allotment::level_result allotment::end_level(bool more) noexcept {
  without_ = without_ || more;
  const level_result result{without_ || left_ == 0, without_};
  share_out();
  even_out();
  has_losers_ = has_losers_ || without_;
  wants_more_ =
      wants_more_ || std::any_of(level().begin(), level().end(), [](const portion& p) { return p.given < p.wanted; });
  return result;
}

/// [A12] A pinned section's tasks run in its domain only: the worker that it must have moves there, unless it has gone
/// [A19].
std::optional<unsigned> allotment::domain_to_move_to(const arena_demand& section) const noexcept {
  for (unsigned d = 0; d < domain_count(); ++d) {
    if (section.cpus[d] != 0 && domains_[d].cpus != 0) {
      return d;
    }
  }
  return {};
}

bool allotment::can_hand_out(const portion& p, unsigned domain) const noexcept {
  return left_ != 0 && (domains_[domain].left > -domains_[domain].spare || p.moves_to == domain);
}

void allotment::hand_out(portion& p, unsigned domain) noexcept {
  platform::require(left_ != 0, "A12: no more is allotted than is allowed");
  ++p.of.share[domain];
  --domains_[domain].left;
  ++p.given;
  --left_;
}

// An arena whose tasks have all been taken keeps the workers that run them, where they are, and wants no more. [A22]
void allotment::keep_workers(portion& p) noexcept {
  p.is_trimmed = true;
  const unsigned searching =
      std::min(p.of.workers, static_cast<unsigned>(std::accumulate(p.of.searching.begin(), p.of.searching.end(), 0)));
  const unsigned has = std::min(p.wanted, std::max(1U, p.of.workers));
  p.wanted = std::min(has, p.of.workers == 0 ? 1U : p.of.workers - searching);
  p.spare = has - p.wanted;
  for (unsigned d = 0; d < domain_count(); ++d) {
    while (p.of.share[d] < p.of.present[d] - p.of.searching[d] && p.given < p.wanted && can_hand_out(p, d)) {
      hand_out(p, d);
    }
  }
}

void allotment::end() noexcept {
  for (portion& p : portions_) {
    for (unsigned d = 0; d < domain_count(); ++d) {
      while (p.spare != 0 && p.of.share[d] < p.of.present[d] && can_hand_out(p, d)) {
        hand_out(p, d);
        --p.spare;
      }
    }
  }
}

// Spread over the domains that the arena may use: the next worker comes from the domain that has given it least in
// proportion to its CPUs, among equals from one whose worker is there already, then from the one with most left.
// (TBB-NUMA 4.2)
bool allotment::is_better(const portion& p, unsigned domain, unsigned than) const noexcept {
  const std::uint64_t mine = static_cast<std::uint64_t>(p.of.share[domain] + 1) * p.of.cpus[than];
  const std::uint64_t its = static_cast<std::uint64_t>(p.of.share[than] + 1) * p.of.cpus[domain];
  const auto preference = [&](unsigned d) { return std::pair(p.of.present[d] > p.of.share[d], domains_[d].left); };
  return mine < its || (mine == its && preference(domain) > preference(than));
}

std::optional<unsigned> allotment::next_domain_for(const portion& p) const noexcept {
  if (p.moves_to) {
    return p.moves_to;
  }
  std::optional<unsigned> best;
  for (unsigned d = 0; d < domain_count(); ++d) {
    // Constraints are about speed. Where the limit leaves none of its domains a worker, one of another is better than
    // none.
    const bool may_give = domains_[d].left > 0 && (p.of.cpus[d] != 0 || p.is_homeless);
    if (may_give && (!best || is_better(p, d, *best))) {
      best = d;
    }
  }
  for (unsigned d = 0; d < domain_count() && !best; ++d) {
    if (p.of.cpus[d] != 0 && !p.is_homeless && domains_[d].left > -domains_[d].spare) {
      best = d;
    }
  }
  return best;
}

void allotment::give(portion& p, std::uint64_t count) noexcept {
  for (; count != 0 && p.given < p.wanted && left_ != 0; --count) {
    const auto from = next_domain_for(p);
    if (!from) {
      return;  // its domains have no more workers
    }
    hand_out(p, *from);
  }
}

void allotment::share_out() noexcept {
  std::uint64_t total = 0;
  for (const portion& p : level()) {
    total += p.wanted - p.given;
  }
  const std::uint64_t to_share = std::min<std::uint64_t>(left_, total);
  std::uint64_t carry = 0;
  for (portion& p : level()) {
    if (to_share == 0) {
      break;
    }
    const std::uint64_t exact = (p.wanted - p.given) * to_share + carry;
    give(p, exact / total);
    carry = exact % total;
  }
  for (portion& p : level()) {
    give(p, left_);  // what others could not use, since their domains had no more
  }
}

namespace {

// Of a move of one worker: workers a CPU there before it, less workers a CPU here after it; times CPUs, so only its
// sign.
std::int64_t gain_of(const allotment::portion& p, unsigned from, unsigned to) noexcept {
  return static_cast<std::int64_t>(p.of.share[from]) * p.of.cpus[to] -
         static_cast<std::int64_t>(p.of.share[to] + 1) * p.of.cpus[from];
}

bool may_move(const allotment::portion& p, unsigned from, unsigned to) noexcept {
  return !p.is_trimmed && p.of.share[from] > 0 && p.of.cpus[to] != 0;
}

void move(const allotment::portion& p, unsigned from, unsigned to) noexcept {
  --p.of.share[from];
  ++p.of.share[to];
}

}  // namespace

void allotment::swap_with_others(portion& p, unsigned from, unsigned to) noexcept {
  for (portion& other : level()) {
    if (!may_move(p, from, to) || gain_of(p, from, to) <= 0) {
      return;
    }
    if (&other != &p && may_move(other, to, from) && gain_of(other, to, from) >= 0) {
      move(p, from, to);
      move(other, to, from);
    }
  }
}

// Each took its odd worker where it had one already, and the last may be left with two more of one domain than of
// another. It swaps with one that is as well off either way. (TBB-NUMA 4.2)
void allotment::even_out() noexcept {
  if (level().size() < 2) {
    return;
  }
  for (portion& p : level()) {
    for (unsigned from = 0; from < domain_count(); ++from) {
      for (unsigned to = 0; to < domain_count(); ++to) {
        swap_with_others(p, from, to);
      }
    }
  }
}

}  // namespace homing::scheduler
