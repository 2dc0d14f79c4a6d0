#include "runtime/arena/work_places.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "platform/check.hpp"
#include "runtime/thread/dispatcher.hpp"

namespace homing::scheduler {
namespace {

/// What nobody has fetched: these tasks were taken from their deques, so each proxy is at its second life.
void abandon_mail(sync::mailbox* box) noexcept {
  if (box == nullptr) {
    return;
  }
  while (const std::uintptr_t item = box->take([](std::uint64_t) { return true; })) {
    as_proxy(item)->abandon();  // [M8]
  }
}

}  // namespace

work_places::work_places(arena_room& room, counts c, steal_policy steal, idle_rule mailbox_idle) noexcept
    : unaddressed(room.make<sharded_task_queue::shard>(shards_for(c.slots))),
      searching(room.make<searcher_counts::line>(c.domains)),
      steal_(steal),
      mailbox_idle_(mailbox_idle),
      stays_(steal == steal_policy::domain && c.domains > 1),
      domain_count_(c.domains),
      slot_count_(c.slots),
      slots_(room.make<arena_slot>(c.slots).data()),
      domains_(room.make<arena_domain>(c.domains).data()),
      mail_rooms_(room.make<mail_room>(c.slots).data()) {}

work_places::~work_places() {
  for (const arena_slot& s : slots()) {
    abandon_mail(s.mail.get());
  }
  for (const domain_index d : all_domains()) {
    abandon_mail(domain(d).mail.get());
  }
  std::destroy_n(unaddressed.shards().data(), unaddressed.shards().size());
  std::destroy_n(slots_, slot_count_);
  std::destroy_n(domains_, domain_count_);
}

/// In blocks: neighbours in a static partition share a domain then.
void work_places::deal_slots(std::span<const unsigned> weights) noexcept {
  const unsigned count = slot_count_;
  const unsigned total = std::max(1U, std::accumulate(weights.begin(), weights.end(), 0U));
  unsigned domain = 0;
  unsigned sum = weights[0];
  for (unsigned i = 0; i < count; ++i) {
    while (domain + 1 < weights.size() && std::uint64_t{2} * i * total + total > std::uint64_t{2} * sum * count) {
      domains_[domain].last_slot = i;
      ++domain;
      domains_[domain].first_slot = i;
      sum += weights[domain];
    }
    slots_[i].home = domain_index{domain};
    slots_[i].domain.store(slots_[i].home, sync::relaxed);
  }
  domains_[domain].last_slot = count;
  for (unsigned d = domain + 1; d < weights.size(); ++d) {
    domains_[d].first_slot = domains_[d].last_slot = count;
  }
}

bool work_places::put_into_mailbox(affinity to, std::uintptr_t item, std::uint64_t tag) {
  if (!names_slot(to)) {
    return domain(home_of(to)).mail.get_or_make(slot_mail_capacity * std::max(4U, slot_count_)).post(item, tag);
  }
  sync::mailbox* const box =
      slot(slot_of(to)).mail.get_or_make_in(&mail_rooms_[to_index(slot_of(to))], slot_mail_capacity);
  return box != nullptr && box->post(item, tag);
}

bool work_places::has_common_task(const search_scope& scope) noexcept {
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

bool work_places::may_have_pusher(slot_id but) const noexcept {
  for (unsigned i = 0; i < slot_count(); ++i) {
    if (i != to_index(but) && may_push_lightly(slots_[i].hold, slots_[i].searching)) {
      return true;
    }
  }
  return false;
}

void work_places::ask_for_forks() noexcept {
  if (!has_lanes()) {
    return;
  }
  for (const arena_slot& s : slots()) {
    if (lane* const forks = s.forks.load(sync::acquire)) {
      forks->ask();
    }
  }
}

bool work_places::has_fork(isolation_tag isolation, const arena_slot& slot) noexcept {
  lane* const forks = slot.forks.load(sync::acquire);
  // Without heavy fences nobody but its thread takes what is private there.
  if (forks == nullptr || !forks->has_private() || !sync::fences_are_asymmetric()) {
    return false;
  }
  if (isolation == no_isolation) {
    return true;
  }
  bool fits = false;
  static_cast<void>(forks->take([&](const fork_branch&) {
    fits = forks->owner().running->isolation == isolation;
    return false;
  }));
  return fits;
}

bool work_places::has_slot_work(isolation_tag isolation, const arena_slot& slot, domain_index by_domain) noexcept {
  return has_fork(isolation, slot) || slot.tasks.has([&](std::uint64_t tag) {
    const affinity wished = tag_affinity(tag);
    if (wished != no_affinity && by_domain != anybody) {
      // A thread of its home domain looks for work and will find it: not ours.
      const domain_index h = home_of(wished);
      if (h != by_domain && (searching.in_domain(h) > 0 || is_left_to(h))) {
        return false;
      }
    }
    return tag_fits(tag, isolation);
  });
}

bool work_places::has_queued_in(domain_index of, const search_scope& scope, domain_index by_domain) const noexcept {
  const arena_domain& d = domain(of);
  if (scope.isolation != no_isolation || (d.detached.empty() && (d.enqueued.empty() || !scope.takes_enqueued))) {
    return false;
  }
  // As take_queued(): where thieves stay, a queue that nobody else could serve, and nothing else.
  return !stays_ || by_domain == anybody || of == by_domain || is_unserved(d);
}

bool work_places::has_mail(domain_index of, const search_scope& scope) const noexcept {
  const auto has = [&](const sync::mailbox_place& place) {
    const sync::mailbox* const box = place.get();
    return box != nullptr && box->has([&](std::uint64_t tag) { return tag_fits(tag, scope.isolation); });
  };
  const arena_domain& d = domain(of);
  if (has(d.mail)) {
    return true;
  }
  // A slot's mail is in its maker's deque, too: only who may not look there need look here.
  return !scope.may_steal && std::any_of(slots_ + d.first_slot, slots_ + d.last_slot,
                                         [&](const arena_slot& slot) { return has(slot.mail); });
}

bool work_places::has_work(const search_scope& scope, domain_index by_domain) noexcept {
  return !resumed.empty() || has_task(scope, by_domain);
}

bool work_places::has_task(const search_scope& scope, domain_index by_domain) noexcept {
  if (has_common_task(scope) || (by_domain != anybody && has_mail(by_domain, scope))) {
    return true;
  }
  for (const domain_index d : all_domains()) {
    if (has_queued_in(d, scope, by_domain)) {
      return true;
    }
  }
  const bool has_forks = has_lanes();
  return scope.may_steal && std::any_of(slots_, slots_ + slot_count_, [&](const arena_slot& slot) {
           return (has_forks || !slot.tasks.looks_empty()) &&
                  (by_domain == anybody || may_steal_from(slot, by_domain)) &&
                  has_slot_work(scope.isolation, slot, by_domain);
         });
}

bool work_places::has_tasks_for(unsigned threads) const noexcept {
  std::size_t seen = 0;
  for (unsigned i = 0; i < slot_count_; ++i) {
    seen += slots_[i].tasks.about_size();
    if (seen >= threads) {
      return true;
    }
  }
  return false;
}

bool work_places::has_enqueued() const noexcept {
  return has_enqueued_for(anybody) || std::any_of(&domains_[0], &domains_[0] + domain_count_,
                                                  [](const arena_domain& d) { return !d.detached.empty(); });
}

bool work_places::has_enqueued_for(domain_index by_domain) const noexcept {
  if (!unaddressed.empty() || !delegated.empty()) {
    return true;
  }
  for (const domain_index d : all_domains()) {
    if (!domain(d).enqueued.empty() && has_queued_in(d, {}, by_domain)) {
      return true;
    }
  }
  return false;
}

// relaxed, all of it: the slot's own thread writes both, and a heavy fence is between them and its look for work [S15];
// partner: a push, or a searcher that stops, then the look at these. What lies in the deque is handed over by the
// deque.
bool work_places::become_absent(arena_slot& s, thread_kind entered_as) noexcept {
  if (s.absent.load(sync::relaxed)) {
    return false;
  }
  s.absent.store(true, sync::relaxed);
  if (entered_as == thread_kind::worker) {
    domain(s.domain.load(sync::relaxed)).absent.fetch_add(1, sync::relaxed);
  }
  return true;
}

// relaxed: who still finds the mark steals where it need not have.
void work_places::end_absence(arena_slot& s, thread_kind entered_as) noexcept {
  if (!s.absent.load(sync::relaxed)) {
    return;
  }
  s.absent.store(false, sync::relaxed);
  if (entered_as == thread_kind::worker) {
    platform::require(domain(s.domain.load(sync::relaxed)).absent.fetch_sub(1, sync::relaxed) > 0,
                      "S15: a worker that comes back was absent from its domain");
  }
}

void work_places::lock_queues_for_fork() noexcept {
  for (auto* queue : {&delegated, &critical, &overflowed}) {
    queue->lock_for_fork();
  }
  unaddressed.lock_for_fork();
  resumed.lock_for_fork();
  for (const domain_index d : all_domains()) {
    domain(d).detached.lock_for_fork();
    domain(d).enqueued.lock_for_fork();
  }
}

void work_places::unlock_queues_after_fork() noexcept {
  for (const domain_index d : all_domains()) {
    domain(d).enqueued.unlock_after_fork();
    domain(d).detached.unlock_after_fork();
  }
  resumed.unlock_after_fork();
  unaddressed.unlock_after_fork();
  for (auto* queue : {&delegated, &critical, &overflowed}) {
    queue->unlock_after_fork();
  }
}

}  // namespace homing::scheduler
