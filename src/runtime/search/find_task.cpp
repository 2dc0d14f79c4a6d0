#include "runtime/search/find_task.hpp"

#include <algorithm>
#include <new>

#include "platform/clock.hpp"
#include "runtime/task/fork_task.hpp"
#include "runtime/thread/dispatcher.hpp"

namespace homing::scheduler {
namespace {

using observe::event;

/// The task behind an item, or null if the item was a proxy whose task has been taken at its other place.
task* unwrap(thread_state& t, std::uintptr_t item) noexcept {
  return is_proxy(item) ? as_proxy(item)->take(*t.pool) : as_task(item);
}

/// What was taken by its tag must be verified: the entry may have been reused between the look and the claim.
/// A task of another isolation is put into the own deque, as if it had been spawned here: find_task() has made
/// room.
task* verified(thread_state& t, task* taken, isolation_tag isolation) noexcept {
  if (taken == nullptr || isolation == no_isolation || task_access::isolation(*taken) == isolation) {
    return taken;
  }
  const isolation_tag its = task_access::isolation(*taken);
  keep(t, *taken, make_tag(its, no_affinity));
  t.in->new_work(its, t.domain, *t.slot);
  return nullptr;
}

task* take_mail(thread_state& t, sync::atomic<sync::mailbox*>& place, const search_round& how) {
  const isolation_tag isolation = how.scope.isolation;
  sync::mailbox* box = place.load(sync::acquire);
  if (box == nullptr) {
    return nullptr;
  }
  for (;;) {
    const std::uintptr_t item =
        box->take([&](std::uint64_t tag) { return tag_fits(tag, isolation) && how.may_take(t); });
    if (item == 0) {
      return nullptr;
    }
    if (task* found = verified(t, unwrap(t, item), isolation)) {
      t.counters.add(event::mailbox);
      return found;
    }
  }
}

/// Rule 4': the own slot's mail, the domain's, then what siblings of the domain have not fetched.
task* take_mail(thread_state& t, const search_round& how) {
  arena& a = *t.in;
  if (task* found = take_mail(t, t.slot->mail, how)) {
    return found;
  }
  arena_domain& home = a.domain(t.domain);
  if (task* found = take_mail(t, home.mail, how)) {
    return found;
  }
  for (arena_slot& sibling : a.slots_of(home)) {
    if (sibling.mail.load(sync::relaxed) != nullptr && !sibling.searching.is_set()) {
      if (task* found = take_mail(t, sibling.mail, how)) {
        return found;
      }
    }
  }
  return nullptr;
}

found_task take_from(task_queue& queue, const thread_state& t, const search_round& how) noexcept {
  task* const item = queue.take_if([&](const task&) { return how.may_take(t); });
  return {item, item != nullptr ? &queue : nullptr};
}

/// The oldest of a domain's queues that the thread may take.
found_task take_queued_of(arena_domain& d, const thread_state& t, const search_round& how) noexcept {
  const found_task found = take_from(d.detached, t, how);
  return !found && how.scope.takes_enqueued ? take_from(d.enqueued, t, how) : found;
}

/// Whether a thread looks into the queues of a domain that is not its own: figure 9's test while it has patience; and
/// who may not leave its domain still serves queues that nobody else could.
bool serves_other(const arena& a, domain_index domain, patience p) noexcept {
  const arena_domain& other = a.domain(domain);
  if (p == patience::some &&
      (a.searching.in_domain(domain) > 0 || other.active.load(sync::relaxed) < other.allotted.load(sync::relaxed))) {
    return false;
  }
  return a.steal() != steal_policy::domain || a.is_unserved(other);
}

/// Of two lines that are seldom written. Who searches in a domain is, by each of its searchers.
bool looks_queued(const arena_domain& d, const search_scope& scope) noexcept {
  return !d.detached.empty() || (scope.takes_enqueued && !d.enqueued.empty());
}

found_task take_queued_of_others(thread_state& t, const search_round& how) noexcept {
  arena& a = *t.in;
  for (const domain_index other : a.settings().machine.nearest_first(t.domain)) {
    if (!looks_queued(a.domain(other), how.scope) || !serves_other(a, other, how.with_mail)) {
      continue;
    }
    if (const found_task found = take_queued_of(a.domain(other), t, how)) {
      return found;
    }
  }
  return {};
}

/// Rules 5', 5'', 5''': whose maker waits at the door, the domain's queues, the queue without affinity, the others'
/// from near to far.
found_task take_queued(thread_state& t, const search_round& how) noexcept {
  arena& a = *t.in;
  found_task found = how.scope.takes_enqueued ? take_from(a.delegated, t, how) : found_task{};
  if (!found) {
    found = take_queued_of(a.domain(t.domain), t, how);
  }
  if (!found && how.scope.takes_enqueued) {
    found = take_from(a.unaddressed, t, how);
  }
  if (!found && a.domain_count() > 1) {
    found = take_queued_of_others(t, how);
  }
  if (found) {
    t.counters.add(event::shared_queue);
  }
  return found;
}

/// Of an affinity to the thief's own domain: whether it is that of another slot, whose thread looks for work.
bool is_of_searching_sibling(const thread_state& t, affinity wished) noexcept {
  return names_slot(wished) && slot_of(wished) != t.slot_number && t.in->slot(slot_of(wished)).searching.is_set();
}

/// Upstream's rule: a mailbox is idle when its threads, other than the thief, look for work, or have left the arena.
bool is_idle_as_upstream(const thread_state& t, affinity wished) noexcept {
  const arena& a = *t.in;
  if (names_slot(wished)) {
    const arena_slot& slot = a.slot(slot_of(wished));
    return slot_of(wished) != t.slot_number && (slot.searching.is_set() || !slot.hold.is_held());
  }
  const domain_index home = a.home_of(wished);
  if (home == t.domain) {
    return false;
  }
  const bool has_threads = std::any_of(a.slots().begin(), a.slots().end(), [home](const arena_slot& s) {
    return s.hold.is_held() && s.domain.load(sync::relaxed) == home;
  });
  return !has_threads || a.searching.in_domain(home) > 0;
}

/// Figure 9, word for word: the mailbox's counter is above 0, or threads that are allotted there have not come yet.
bool is_idle_as_in_figure_9(const thread_state& t, affinity wished) noexcept {
  const arena& a = *t.in;
  const domain_index home = a.home_of(wished);
  if (home == t.domain) {  // the mailbox is the thief's own, and it has looked there
    return is_of_searching_sibling(t, wished);
  }
  const arena_domain& d = a.domain(home);
  return a.searching.in_domain(home) > 0 || d.active.load(sync::relaxed) < d.allotted.load(sync::relaxed);
}

/// The same of work whose data is in a domain; not, of work without a home.
bool leave_for_home(const thread_state& t, domain_index home, patience p) noexcept {
  const arena& a = *t.in;
  if (home == t.domain || to_index(home) >= a.domain_count()) {
    return false;
  }
  const arena_domain& d = a.domain(home);
  return a.searching.in_domain(home) > 0 || a.is_left_to(home) ||
         (p == patience::some && (d.active.load(sync::relaxed) > 0 || d.allotted.load(sync::relaxed) > 0));
}

/// Whether a thief leaves an affinitized task of a victim's deque for the threads of its home: figure 9's test, and
/// while it has patience, also if they are there and busy. A thief would otherwise take the oldest task, whosesoever,
/// before the one of its own domain behind it.
bool leave_for_home(thread_state& t, const arena_slot& victim, affinity wished, patience p) noexcept {
  const arena& a = *t.in;
  if (__builtin_expect(a.mailbox_idle() != idle_rule::homing, false)) {
    // [M9] Only while its creator is there to take it back.
    return victim.hold.is_held() && !victim.absent.load(sync::relaxed) &&
           (a.mailbox_idle() == idle_rule::tbb ? is_idle_as_upstream(t, wished) : is_idle_as_in_figure_9(t, wished));
  }
  const domain_index home = a.home_of(wished);
  if (home == t.domain) {
    return is_of_searching_sibling(t, wished);
  }
  return leave_for_home(t, home, p);
}

struct stolen_task {
  task* what = nullptr;
  slot_id victim = no_slot;

  explicit operator bool() const noexcept { return what != nullptr; }
};

/// [F10] Whether a thief looks past forks: of work that was begun just now, or whose data is in another domain. From
/// there they are taken if the home's threads have no time for them: the thief has had none to do for long, next to how
/// long the work takes.
bool leave_forks(const thread_state& t, const lane& forks, insistence how) noexcept {
  constexpr std::int64_t short_work_ns = 5000;  // some times what it takes to hand a part over
  const std::int64_t began_ns = forks.began_ns.load(sync::relaxed);
  if (began_ns == 0) {
    return false;
  }
  const std::int64_t now_ns = platform::monotonic_ns();
  const std::int64_t age_ns = now_ns - began_ns;
  const domain_index home{forks.home.load(sync::relaxed)};
  if (age_ns < short_work_ns || home == t.domain || to_index(home) >= t.in->domain_count()) {
    return age_ns < short_work_ns;
  }
  return how != insistence::takes_from_afar || now_ns - t.looks_since_ns < age_ns / 8 ||
         leave_for_home(t, home, patience::none);
}

/// The victim's oldest private fork as a task: asked for, and taken only if an ask stands that nobody has answered.
task* steal_fork(thread_state& t, arena_slot& slot, const search_round& how) noexcept {
  lane* const forks = slot.forks.load(sync::acquire);
  if (forks == nullptr ||
      (how.steals_from == victims::with_several_tasks ? !forks->has_several() : !forks->has_private()) ||
      leave_forks(t, *forks, how.on_forks)) {
    return nullptr;
  }
  if (how.on_forks == insistence::asks || !forks->is_asked() || !sync::fences_are_asymmetric()) {
    forks->ask();
    return nullptr;
  }
  void* room = nullptr;
  try {
    room = t.pool->allocate(sizeof(fork_task));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  task* taken = nullptr;
  static_cast<void>(forks->take([&](fork_branch& b) {
    const thread_state& owner = forks->owner();
    if (owner.in != t.in || !how.scope.fits(owner.running->isolation) || !how.may_take(t)) {
      return false;
    }
    taken = new (room) fork_task(b, *t.pool);
    task_access::set_context(*taken, owner.running->ed.context);
    task_access::set_isolation(*taken, owner.running->isolation);
    task_access::set_address(*taken, {owner.slot_number, no_affinity, owner.domain});
    return true;
  }));
  if (taken == nullptr) {
    t.pool->deallocate_local(room, sizeof(fork_task));
  }
  return taken;
}

stolen_task steal_from(thread_state& t, slot_id victim, const search_round& how) {
  arena_slot& slot = t.in->slot(victim);
  if (slot.forks.load(sync::relaxed) != nullptr) {
    if (task* const found = steal_fork(t, slot, how)) {
      t.counters.add(slot.domain.load(sync::relaxed) == t.domain ? event::steal_near : event::steal_far);
      return {found, victim};
    }
  }
  if (how.steals_from == victims::with_several_tasks && slot.tasks.has_at_most_one()) {
    return {};
  }
  const isolation_tag isolation = how.scope.isolation;
  const auto accepts = [&](std::uint64_t tag) {
    if (!tag_fits(tag, isolation) || !how.may_take(t)) {
      return false;
    }
    const affinity wished = tag_affinity(tag);
    if (wished != no_affinity && leave_for_home(t, slot, wished, how.with_mail)) {
      t.counters.add(event::bypass);
      return false;
    }
    return true;
  };
  const auto uncovered = [&] {
    if (isolation != no_isolation || !t.running->critical_allowed) {
      t.in->uncovered_work(slot);  // [D10] not counted as searching: nobody relied on this thread to look again
    }
  };
  while (!slot.tasks.looks_empty()) {
    const sync::deque_item taken = slot.tasks.steal(accepts, uncovered);
    if (taken.item == 0) {
      return {};
    }
    if (task* found = verified(t, unwrap(t, taken.item), isolation)) {
      t.counters.add(slot.domain.load(sync::relaxed) == t.domain ? event::steal_near : event::steal_far);
      return {found, victim};
    }
  }
  return {};
}

task* take_overflowed(const thread_state& t, const search_round& how) noexcept {
  return t.in->overflowed.take_if(
      [&](const task& s) { return how.scope.fits(task_access::isolation(s)) && how.may_take(t); });
}

task* take_resumed(thread_state& t) noexcept {
  if (t.in->resumed.empty()) {
    return nullptr;
  }
  left_stack* stack = t.in->resumed.take();
  t.resumed_last = stack != nullptr;
  return stack == nullptr ? nullptr : &stack->continuation();
}

/// What a thief asks before each victim, of lines that its own caches have.
bool has_news(const thread_state& t, const search_round& how) noexcept {
  return (how.wait != nullptr && !arena_access::is_waited_for(*how.wait)) || has_mail(t, how.scope.isolation);
}

/// Victims that a round visits in its own domain, and about as many in others, if it is not whole.
constexpr unsigned victims_a_round = 16;

/// One look at the slots of [first, last) but the own, from a random one onward; at some, if the round is not whole.
template <typename Wanted>
stolen_task steal_among(thread_state& t, unsigned first, unsigned last, const search_round& how, Wanted&& wanted) {
  if (first >= last) {
    return {};
  }
  const unsigned count = last - first;
  const unsigned start = count > 2 ? t.random_below(count) : 0;
  unsigned left = how.end == round_end::whole ? count : victims_a_round;
  for (unsigned i = 0; i < count && left > 0; ++i) {
    const slot_id victim{static_cast<std::uint16_t>(first + (start + i < count ? start + i : start + i - count))};
    if (victim != t.slot_number && wanted(victim)) {
      if (how.end == round_end::at_news && has_news(t, how)) {
        return {};
      }
      if (const stolen_task found = steal_from(t, victim, how)) {
        return found;
      }
      --left;
    }
  }
  return {};
}

/// Domains by distance, the own first; a round that is not whole visits some of the others, the next ones each time.
stolen_task steal_outwards(thread_state& t, const search_round& how) {
  arena& a = *t.in;
  const auto steal_in = [&](domain_index d) {
    const arena_domain& there = a.domain(d);
    return steal_among(t, there.first_slot, there.last_slot, how, [](slot_id) { return true; });
  };
  const std::span<const domain_index> by_distance = a.settings().machine.nearest_first(t.domain);
  if (const stolen_task found = steal_in(by_distance.front())) {
    return found;
  }
  const auto others = by_distance.subspan(1);
  const auto count = static_cast<unsigned>(others.size());
  const unsigned share = std::max(1U, victims_a_round * (count + 1) / a.slot_count());
  const bool is_whole = how.end == round_end::whole || share >= count;
  const unsigned first = is_whole ? 0 : how.number % count * share;
  for (unsigned i = 0; i < (is_whole ? count : share); ++i) {
    if (const stolen_task found = steal_in(others[(first + i) % count])) {
      return found;
    }
  }
  return {};
}

/// Rule 6, outwards: same L3, same domain, then by distance; or as HOMING_STEAL says.
stolen_task steal(thread_state& t, const search_round& how) {
  arena& a = *t.in;
  const auto any = [](slot_id) { return true; };
  const scheduler_settings& settings = a.settings();
  if ((a.domain_count() == 1 && !settings.has_l3_groups) || a.steal() == steal_policy::random) {
    return steal_among(t, 0, a.slot_count(), how, any);
  }
  if (settings.has_l3_groups) {
    const arena_domain& own = a.domain(t.domain);
    const auto same_l3 = [&](slot_id s) { return a.slot(s).l3_group.load(sync::relaxed) == t.l3_group; };
    if (const stolen_task found = steal_among(t, own.first_slot, own.last_slot, how, same_l3)) {
      return found;
    }
  }
  if (a.steal() == steal_policy::domain) {
    return steal_among(t, 0, a.slot_count(), how, [&](slot_id s) { return a.may_steal_from(a.slot(s), t.domain); });
  }
  return steal_outwards(t, how);
}

/// The same, timed now and then: what it costs decides when the next one is due.
task* steal_for(thread_state& t, const search_round& how) {
  const std::int64_t began_ns = t.backoff.times_next_steal() ? platform::monotonic_ns() : 0;
  const stolen_task found = steal(t, how);
  if (found) {
    t.backoff.has_stolen(found.victim, began_ns, platform::monotonic_ns());
  }
  return found.what;
}

/// Queues, then deques; a stack that may go on before them, or after them, if the last find was one.
found_task find_beyond_mail(thread_state& t, const search_round& how) noexcept {
  // Isolated or not: the stack goes on by itself, not on top of this one, and it may be what this thread waits for. But
  // two stacks that wait must not take each other for ever: after one, tasks come first. [U7]
  const bool resumed_first = !t.resumed_last;
  search_round tasks = how;
  if (resumed_first) {
    if (task* found = take_resumed(t)) {
      return {found};
    }
  } else if (how.scope.may_steal) {
    tasks.steals_from = victims::any;  // a stack that leaves others' tasks alone would meet only the other stack
  }
  found_task found = how.scope.isolation == no_isolation ? take_queued(t, how) : found_task{};
  if (!found && tasks.steals_from != victims::none) {
    found.what = steal_for(t, tasks);
  }
  if (!found && !resumed_first) {
    found.what = take_resumed(t);
  }
  t.resumed_last = found && task_access::is_resume(*found.what);
  return found;
}

}  // namespace

task* take_own_from_below(thread_state& t, isolation_tag isolation) {
  for (;;) {
    const sync::deque_item taken = t.slot->tasks.pop([&](std::uint64_t tag) { return tag_fits(tag, isolation); });
    if (taken.item == 0) {
      return nullptr;
    }
    if (!is_proxy(taken.item)) {
      return as_task(taken.item);
    }
    if (task* found = take_own_mailed(t, taken)) {
      return found;
    }
  }
}

bool has_mail(const thread_state& t, isolation_tag isolation) noexcept {
  const auto has = [&](const sync::atomic<sync::mailbox*>& place) {
    const sync::mailbox* const box = place.load(sync::acquire);
    return box != nullptr && box->has([&](std::uint64_t tag) { return tag_fits(tag, isolation); });
  };
  return has(t.slot->mail) || has(t.in->domain(t.domain).mail);
}

task* take_own_mailed(thread_state& t, const sync::deque_item& taken) noexcept {
  task* const found = as_proxy(taken.item)->take(*t.pool);
  if (found != nullptr && t.in->home_of(tag_affinity(taken.tag)) != t.domain) {
    t.counters.add(event::revoke);
  }
  return found;
}

bool has_room(thread_state& t) noexcept { return t.slot->tasks.reserve_one(); }

found_task take_critical(thread_state& t, const search_scope& scope, may_take_work* may_take) noexcept {
  task_queue& critical = t.in->critical;
  if (!scope.takes_critical || critical.empty()) {
    return {};
  }
  // Who may not have it does not take it out, not even to put it back. The pusher's thread would pass it over
  // meanwhile, and run what it was to go before. [A12]
  const auto accepts = [&](const task& c) { return scope.fits(task_access::isolation(c)) && may_take(t); };
  return {critical.take_if(accepts), &critical};
}

found_task find_task(thread_state& t, const search_round& how) noexcept {
  if (__builtin_expect(!t.in->overflowed.empty(), false)) {
    if (task* found = take_overflowed(t, how)) {
      return {found};
    }
  }
  if (how.scope.isolation != no_isolation && !has_room(t)) {
    return {take_resumed(t)};  // what turns out to be of another region could not be kept
  }
  if (task* found = take_mail(t, how)) {
    return {found};
  }
  return find_beyond_mail(t, how);
}

bool put_back(thread_state& t, task& found) noexcept {
  return t.slot->tasks.try_push(as_item(found), make_tag(task_access::isolation(found), no_affinity));
}

}  // namespace homing::scheduler
