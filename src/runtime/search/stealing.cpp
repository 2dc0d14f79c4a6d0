#include "runtime/search/stealing.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <utility>

#include "platform/clock.hpp"
#include "runtime/search/mail.hpp"
#include "runtime/search/own_tasks.hpp"
#include "runtime/task/fork_task.hpp"
#include "runtime/thread/dispatcher.hpp"

namespace homing::scheduler {
namespace {

using observe::event;

/// Whether an affinity that is not the thief's own slot's is that of a slot whose thread looks for work: it looks into
/// its mail first. That thread need not be of the slot's home domain: the application's is where it is, and workers
/// take what slots are free.
bool is_of_searching_slot(const thread_state& t, affinity wished) noexcept {
  return names_slot(wished) && t.in->slot(slot_of(wished)).searching.is_set();
}

/// Upstream's rule: a mailbox is idle when its threads, other than the thief, look for work, or have left the arena.
bool is_idle_as_upstream(const thread_state& t, affinity wished) noexcept {
  const arena& a = *t.in;
  if (names_slot(wished)) {
    const arena_slot& slot = a.slot(slot_of(wished));
    return slot.searching.is_set() || !slot.hold.is_held();
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
    return is_of_searching_slot(t, wished);
  }
  const arena_domain& d = a.domain(home);
  return a.searching.in_domain(home) > 0 || d.active.load(sync::relaxed) < d.allotted.load(sync::relaxed);
}

/// The same of work whose data is in a domain; not, of work without a home. What hardly changes is asked first: who
/// reads how many search there takes the line from those that come and go.
bool leave_for_home(const thread_state& t, domain_index home, patience p) noexcept {
  const arena& a = *t.in;
  if (home == t.domain || to_index(home) >= a.domain_count()) {
    return false;
  }
  const arena_domain& d = a.domain(home);
  return (p == patience::some && (d.active.load(sync::relaxed) > 0 || d.allotted.load(sync::relaxed) > 0)) ||
         a.searching.in_domain(home) > 0 || a.is_left_to(home);
}

/// Whether a thief leaves an affinitized task of a victim's deque for the threads of its home: figure 9's test, and
/// while it has patience, also if they are there and busy. A thief would otherwise take the oldest task, whosesoever,
/// before the one of its own domain behind it. What is for the thief's own slot it never leaves: others may leave that
/// to it, and the mail may be hidden.
bool leave_for_home(thread_state& t, const arena_slot& victim, affinity wished, patience p) noexcept {
  if (names_slot(wished) && slot_of(wished) == t.slot_number) {
    return false;
  }
  const arena& a = *t.in;
  if (__builtin_expect(a.mailbox_idle() != idle_rule::homing, false)) {
    // [M9] Only while its creator is there to take it back.
    return victim.hold.is_held() && !victim.absent.load(sync::relaxed) &&
           (a.mailbox_idle() == idle_rule::tbb ? is_idle_as_upstream(t, wished) : is_idle_as_in_figure_9(t, wished));
  }
  return leave_for_home(t, a.home_of(wished), p) || is_of_searching_slot(t, wished);
}

struct stolen_task {
  task* what = nullptr;
  slot_id victim = no_slot;
  bool at_news = false;  ///< none, and the round ends: there is news for the thief

  explicit operator bool() const noexcept { return what != nullptr; }
  [[nodiscard]] bool ends_round() const noexcept { return what != nullptr || at_news; }
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
  if (forks == nullptr || leave_forks(t, *forks, how.on_forks) ||
      (how.steals_from == victims::with_several_tasks ? !forks->has_several() : !forks->has_private())) {
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
    task_access::set_address(*taken, {owner.slot_number, no_affinity, owner.domain_for_reports.load(sync::relaxed)});
    return true;
  }));
  if (taken == nullptr) {
    t.pool->deallocate_local(room, sizeof(fork_task));
  }
  return taken;
}

/// [D11] Behind a stolen task without an address more of them, where there are very many: they are kept. Says how many.
/// Apart, out of the way of steals of one. For a thread that is not isolated. None near the depth at which a wait
/// steals nothing any more: what it had kept would be run on top of it all the same.
[[gnu::noinline]] unsigned steal_more(thread_state& t, arena_slot& slot, const search_round& how) noexcept {
  const std::size_t wanted = t.backoff.more_at_once(slot.tasks.about_size());
  if (wanted == 0 || t.running->deep.is_near(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)))) {
    return 0;
  }
  const auto accepts = [&](std::uint64_t tag) { return tag_affinity(tag) == no_affinity && how.may_take(t); };
  const auto uncovered = [&] {
    if (!t.running->critical_allowed) {
      t.in->uncovered_work(slot);  // [D10] as in steal_from()
    }
  };
  std::array<sync::deque_item, steal_backoff::tasks_max> taken;
  const auto room = std::span(taken).first(wanted);
  unsigned kept = 0;
  for (std::size_t i = slot.tasks.steal_some(room, t.in->tasks_a_steal(), accepts, uncovered); i > 0; --i) {
    if (task* const one = unwrap(t, taken[i - 1].item)) {
      keep_as_spawned(t, *one);
      ++kept;
    }
  }
  return kept;
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
      unsigned count = 1;
      if (t.backoff.tasks_at_once() > 1 && isolation == no_isolation && tag_affinity(taken.tag) == no_affinity) {
        count += steal_more(t, slot, how);
      }
      t.counters.add(slot.domain.load(sync::relaxed) == t.domain ? event::steal_near : event::steal_far, count);
      return {found, victim};
    }
  }
  return {};
}

/// What a thief asks before each victim, of lines that its own caches have.
bool has_news(const thread_state& t, const search_round& how) noexcept {
  return how.wait_is_over() || has_mail(t, how.scope.isolation);
}

/// Victims that a round visits in its own domain, and about as many in others, if it is not whole.
constexpr unsigned victims_a_round = 16;

/// Whom a look at [first, last) begins with, counted from `first`: whose lines are on their way, or a random one.
unsigned begin_among(thread_state& t, unsigned first, unsigned last) noexcept {
  const unsigned count = last - first;
  const unsigned own = to_index(t.slot_number);
  const bool is_own = own >= first && own < last;
  if (count - (is_own ? 1 : 0) <= 1) {
    return 0;  // there is but one victim, or none
  }
  const unsigned expected = to_index(std::exchange(t.expected_victim, no_slot));
  return expected >= first && expected < last ? expected - first : t.random_below(count);
}

/// One look at the slots of [first, last) but the own, in a ring; at some, if the round is not whole.
template <typename Wanted>
stolen_task steal_among(thread_state& t, unsigned first, unsigned last, const search_round& how, Wanted&& wanted) {
  if (first >= last) {
    return {};
  }
  const unsigned count = last - first;
  const unsigned start = begin_among(t, first, last);
  unsigned left = how.end == round_end::whole ? count : victims_a_round;
  for (unsigned i = 0; i < count && left > 0; ++i) {
    const slot_id victim{static_cast<std::uint16_t>(first + (start + i < count ? start + i : start + i - count))};
    if (victim != t.slot_number && wanted(victim)) {
      if (how.end == round_end::at_news && has_news(t, how)) {
        return {.at_news = true};
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
  if (const stolen_task found = steal_in(by_distance.front()); found.ends_round()) {
    return found;
  }
  const auto others = by_distance.subspan(1);
  const auto count = static_cast<unsigned>(others.size());
  const unsigned share = std::max(1U, victims_a_round * (count + 1) / a.slot_count());
  const bool is_whole = how.end == round_end::whole || share >= count;
  const unsigned first = is_whole ? 0 : how.number % count * share;
  for (unsigned i = 0; i < (is_whole ? count : share); ++i) {
    if (const stolen_task found = steal_in(others[(first + i) % count]); found.ends_round()) {
      return found;
    }
  }
  return {};
}

/// Rule 6, outwards: same L3, same domain, then by distance; or as HOMING_STEAL says.
stolen_task steal_by_policy(thread_state& t, const search_round& how) {
  arena& a = *t.in;
  const auto any = [](slot_id) { return true; };
  const scheduler_settings& settings = a.settings();
  if ((a.domain_count() == 1 && !settings.has_l3_groups) || a.steal() == steal_policy::random) {
    return steal_among(t, 0, a.slot_count(), how, any);
  }
  if (settings.has_l3_groups) {
    const arena_domain& own = a.domain(t.domain);
    const auto same_l3 = [&](slot_id s) { return a.slot(s).l3_group.load(sync::relaxed) == t.l3_group; };
    const stolen_task found = steal_among(t, own.first_slot, own.last_slot, how, same_l3);
    if (found.ends_round()) {
      return found;
    }
  }
  if (a.steal() == steal_policy::domain) {
    return steal_among(t, 0, a.slot_count(), how, [&](slot_id s) { return a.may_steal_from(a.slot(s), t.domain); });
  }
  return steal_outwards(t, how);
}

/// Of a victim's deque, if it is of use to the back-off and has several tasks: where there is one at a time its owner
/// pushes and pops it again, and the deque looks as before.
std::uint64_t owners_state(const thread_state& t, slot_id victim) noexcept {
  constexpr std::size_t several = 4;
  const sync::work_deque& tasks = t.in->slot(victim).tasks;
  return t.backoff.backs_off() && tasks.about_size() >= several ? tasks.owners_state() : steal_backoff::not_known;
}

}  // namespace

void expect_steal(thread_state& t) noexcept {
  const arena& a = *t.in;
  const arena_domain& near = a.domain(t.domain);
  const bool is_anywhere = a.steal() == steal_policy::random;
  const unsigned first = is_anywhere ? 0 : near.first_slot;
  const unsigned count = is_anywhere ? a.slot_count() : near.last_slot - near.first_slot;
  if (count < 2) {
    return;
  }
  const auto in_ring = [&](unsigned i) {
    return slot_id{static_cast<std::uint16_t>(first + (i < count ? i : i - count))};
  };
  const unsigned i = t.random_below(count);
  t.expected_victim = in_ring(i) != t.slot_number ? in_ring(i) : in_ring(i + 1);
  a.slot(t.expected_victim).tasks.expect_steal();
}

task* steal(thread_state& t, const search_round& how) {
  const std::int64_t began_ns = t.backoff.times_next_steal() ? platform::monotonic_ns() : 0;
  const stolen_task found = steal_by_policy(t, how);
  if (found) {
    t.backoff.has_stolen(found.victim, owners_state(t, found.victim), began_ns, platform::monotonic_ns());
  }
  return found.what;
}

}  // namespace homing::scheduler
