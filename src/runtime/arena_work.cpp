/// Whether there is something to take in an arena, with the eyes of a thread that may take only some of it.
///
/// Threads:   any; the answers are hints, exact once who pushes and who looks have met a fence.
/// Protocols: docs/protocols/sleep.md [S1], [S3], [S10], [S13], [S14].
#include <algorithm>

#include "runtime/arena.hpp"

namespace homing::scheduler {

bool arena::has_common_task(const search_scope& scope) noexcept {
  if (__builtin_expect(!overflowed.empty(), false) &&
      overflowed.has_if([&](const task& t) { return scope.fits(task_access::isolation(t)); })) {
    return true;
  }
  if (scope.isolation == no_isolation) {
    return (scope.takes_enqueued && !(unaddressed.empty() && delegated.empty())) ||
           (scope.takes_critical && !critical.empty());
  }
  return scope.takes_critical &&
         critical.has_if([&](const task& t) { return task_access::isolation(t) == scope.isolation; });
}

bool arena::has_slot_work(isolation_tag isolation, const arena_slot& slot, unsigned by_domain) noexcept {
  return slot.tasks.has([&](std::uint64_t tag) {
    const slot_id affinity = tag_affinity(tag);
    if (affinity != no_slot && by_domain != anybody) {
      // A thread of its home domain looks for work and will find it: not ours.
      const unsigned h = home_of(affinity);
      if (h != by_domain && (domains_[h].searchers.load(sync::relaxed) > 0 || is_left_to(h))) {
        return false;
      }
    }
    return tag_fits(tag, isolation);
  });
}

bool arena::has_queued_in(unsigned domain, const search_scope& scope, unsigned by_domain) const noexcept {
  const arena_domain& d = domains_[domain];
  if (scope.isolation != no_isolation || (d.detached.empty() && (d.enqueued.empty() || !scope.takes_enqueued))) {
    return false;
  }
  // As take_queued(): where thieves stay, a queue that nobody else could serve, and nothing else.
  return !stays_ || by_domain == anybody || domain == by_domain || is_unserved(d);
}

bool arena::has_mail(unsigned domain, const search_scope& scope) const noexcept {
  const auto has = [&](const sync::atomic<sync::mailbox*>& place) {
    const sync::mailbox* box = place.load(sync::acquire);
    return box != nullptr && box->has([&](std::uint64_t tag) { return tag_fits(tag, scope.isolation); });
  };
  if (has(domains_[domain].mail)) {
    return true;
  }
  // A slot's mail is in its maker's deque, too: only who may not look there need look here.
  return !scope.may_steal &&
         std::any_of(&slots_[0] + domains_[domain].first_slot, &slots_[0] + domains_[domain].last_slot,
                     [&](const arena_slot& slot) { return has(slot.mail); });
}

bool arena::has_work(const search_scope& scope, unsigned by_domain) noexcept {
  return !resumed.empty() || has_task(scope, by_domain);
}

bool arena::has_task(const search_scope& scope, unsigned by_domain) noexcept {
  if (has_common_task(scope) || (by_domain != anybody && has_mail(by_domain, scope))) {
    return true;
  }
  for (unsigned d = 0; d < domain_count_; ++d) {
    if (has_queued_in(d, scope, by_domain)) {
      return true;
    }
  }
  return scope.may_steal && std::any_of(&slots_[0], &slots_[0] + slot_count_, [&](const arena_slot& slot) {
           return (by_domain == anybody || may_rob(by_domain, slot)) && has_slot_work(scope.isolation, slot, by_domain);
         });
}

bool arena::has_enqueued() const noexcept {
  return has_enqueued_for(anybody) || std::any_of(&domains_[0], &domains_[0] + domain_count_,
                                                  [](const arena_domain& d) { return !d.detached.empty(); });
}

bool arena::has_enqueued_for(unsigned by_domain) const noexcept {
  if (!unaddressed.empty() || !delegated.empty()) {
    return true;
  }
  for (unsigned d = 0; d < domain_count_; ++d) {
    if (!domains_[d].enqueued.empty() && has_queued_in(d, {}, by_domain)) {
      return true;
    }
  }
  return false;
}

}  // namespace homing::scheduler
