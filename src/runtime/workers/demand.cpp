/// Who wants workers: arenas list themselves, whoever finds the manager's lock free deals for all (allotment.hpp).
///
/// Costs what there are workers, not what there are arenas: thousands may want the few workers of a small machine.
/// Threads:   under the resource manager's lock, but for demand_rose() and demand_changed().
/// Protocols: docs/protocols/arena.md [A3], [A6], [A8], [A9], [A11], [A14], [A22].
#include <algorithm>
#include <utility>

#include "platform/clock.hpp"
#include "runtime/arena/arena.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {
namespace {

constexpr std::int64_t turn_length_ns = 2'000'000;

/// What was there before. Only the lock's holder writes it, and workers read its line between tasks: so it is written
/// only where it changes.
template <typename T>
T set_if_other(sync::atomic<T>& shared, T value) noexcept {
  const T before = shared.load(sync::relaxed);
  if (before != value) {
    shared.store(value, sync::relaxed);
  }
  return before;
}

}  // namespace

bool resource_manager::demand_rose(arena& a, domain_index home) noexcept {
  look_at_machine(look_of_others_ns);
  // [A9] The arena is on the list before the look at the idle workers; partner: a worker that announces itself idle,
  // then looks whether arenas are listed that were not served. Or a raised limit, then a fence, full only where nobody
  // pushes in a slot [A23], then the look at the list: so this one is full.
  const bool was_listed = list_newcomer(a);
  sync::full_fence();
  // [A14] Of the home domain only where thieves stay in theirs, or where another arena could use more: then a new
  // allotment says which other domains have a worker for it.
  const unsigned domains = a.thieves_stay() || unmet() ? 1 : domain_count_;
  if (was_listed && a.worker_could_enter() && send_one_of_share(a, home, domains, turned_away::waits) == sent::one) {
    return true;
  }
  // Thousands of small arenas may wait for a few workers: they need no new allotment each. A mandatory worker is
  // another matter, since it may be the first.
  if (a.priority_level() < crowded_level_.load(sync::relaxed) || a.account().mandatory.load(sync::relaxed) ||
      available() > 0) {
    demand_changed();
  } else if (!unserved_.load(sync::relaxed)) {
    unserved_.store(true, sync::relaxed);  // [A22] a hint
  }
  return false;
}

void resource_manager::serve_newcomers() noexcept {
  if (unserved_.load(sync::relaxed) && unserved_.exchange(false, sync::relaxed)) {
    demand_changed();
  }
}

void resource_manager::end_mandatory_turn() noexcept {
  // relaxed: a hint for when to allot; what is allotted is under the lock.
  if (mandatory_turn_ends_ns_.exchange(no_turn, sync::relaxed) != no_turn) {
    demand_changed();
  }
}

bool resource_manager::list_newcomer(arena& a) noexcept {
  if (!a.wants_workers()) {
    return false;
  }
  if (a.account().listed_for_allotment.exchange(true, sync::acq_rel)) {
    return true;
  }
  arena* first = newcomers_.load(sync::relaxed);
  do {
    a.account().next_newcomer = first;
    // release: publishes the link to take_newcomers().
  } while (!newcomers_.compare_exchange_weak(first, &a, sync::release, sync::relaxed));
  return false;
}

void resource_manager::take_newcomers() noexcept {
  // acquire: the links, from list_newcomer().
  arena* a = newcomers_.exchange(nullptr, sync::acquire);
  while (a != nullptr) {
    arena* next = a->account().next_newcomer;
    wanting_[a->priority_level()].push_back(a->account().place);
    a = next;
  }
}

void resource_manager::unlist(arena& a) noexcept {
  if (a.account().place.listed) {
    wanting_[a.priority_level()].remove(a.account().place);
    // acq_rel, an exchange as in list_newcomer(): whoever found it listed is ordered before, with its busy_. [A9]
    a.account().listed_for_allotment.exchange(false, sync::acq_rel);
    list_newcomer(a);
  }
}

void resource_manager::demand_changed() noexcept {
  look_at_machine(look_of_others_ns);
  // [A6] Whoever finds the lock free allots for all who asked; an asker who finds it taken relies on the holder's look
  // at dirty_ after its unlock. seq_cst, all four: dirty_ before the try, unlock before the look.
  dirty_.store(true, sync::seq_cst);
  while (dirty_.load(sync::seq_cst) && lock_.try_lock()) {
    dirty_.store(false, sync::seq_cst);
    allot();
    const arena_list grown = take_to_call();
    lock_.unlock();
    call_for(grown);
  }
}

// [A16] Under the lock. An arena that is on a list already is called for after this: acq_rel, so that whoever takes the
// flag off it sees what was allotted by now.
void resource_manager::call_later(arena& a) noexcept {
  if (a.account().to_be_called.exchange(true, sync::acq_rel)) {
    return;
  }
  if (!a.account().try_reference()) {
    a.account().to_be_called.store(false, sync::relaxed);  // about to be retired: whoever retires it calls
    return;
  }
  to_call_.push_back(a.account().place_to_call);
}

resource_manager::arena_list resource_manager::take_to_call() noexcept { return std::exchange(to_call_, {}); }

void resource_manager::call_for(arena_list waiting) noexcept {
  if (waiting.empty()) {
    return;
  }
  // [S7] The shares are out before the look at the places; partner: half a reservation is given back, then the look at
  // the share.
  sync::full_fence();
  // [A8] A worker may have looked for work just before: it sleeps, and nobody else knows of the new allotment.
  while (const arena_place* const place = waiting.pop_front()) {
    arena& a = place->whose;
    a.account().to_be_called.exchange(false, sync::acq_rel);  // off the list, before the call; partner: call_later()
    a.call_allotted_for_work_left(a.account().called_for.load(sync::relaxed));
    a.drop_reference();
  }
}

void resource_manager::allot() noexcept {
  if (unserved_.load(sync::relaxed)) {
    unserved_.store(false, sync::relaxed);
  }
  find_first_thread();
  take_newcomers();
  served_before_.swap(served_);
  served_.clear();
  ++allotment_number_;
  for (const domain_index d : all_domains()) {
    const domain_state& here = state_of(d);
    supplies_[to_index(d)] = {here.planned.load(sync::relaxed), static_cast<int>(leases_.leased()[to_index(d)]),
                              here.usable.cpus, d == first_domain_};
  }
  for (unsigned level = 0; level < level_count; ++level) {
    take_turns(level);
  }
  dealing all = serve_levels(keep_young::yes);
  if (all.kept_young && all.has_losers) {
    all = serve_levels(keep_young::no);  // [A22] not at the price of an arena that has none
  }
  // Before the shares, for who reserves a place of a new one. [A25]
  for (const domain_index d : all_domains()) {
    state_of(d).promised.store(allotment_.promised(to_index(d)), sync::relaxed);
  }
  for (const allotment::portion& p : allotment_.portions()) {
    settle(p);
  }
  set_if_other(crowded_level_, all.crowded_level);
  set_if_other(unmet_, allotment_.is_unmet());
  for (arena* a : served_before_) {
    if (a->account().served_in != allotment_number_) {
      void_share(*a);
    }
  }
  served_before_.clear();  // one of them may be deleted before the next allotment
  look_again_at_trimmed();
}

resource_manager::dealing resource_manager::serve_levels(keep_young keep) noexcept {
  dealing all{.keep = keep};
  set_if_other(mandatory_turn_ends_ns_, no_turn);
  allotment_.begin(supplies_, allottable_workers_.load(sync::relaxed));
  for (unsigned level = 0; level < level_count; ++level) {
    serve_level(level, all);
  }
  allotment_.end();
  return all;
}

void resource_manager::void_share(arena& a) noexcept {
  a.account().allotted.store(0, sync::relaxed);
  for (const domain_index d : all_domains()) {
    a.domain(d).allotted.store(0, sync::relaxed);
  }
}

bool resource_manager::is_out_of_date() noexcept {
  // [A9] Arenas have come, or wait for what another may no longer need, or had their share trimmed and have new work:
  // its pusher asks for nothing while no worker idles.
  return newcomers_.load(sync::relaxed) != nullptr || unmet_.load(sync::relaxed) ||
         std::any_of(served_.begin(), served_.end(), [](arena* a) {
           return a->account().trimmed.load(sync::relaxed) && a->has_work(no_isolation, arena::anybody);
         });
}

void resource_manager::look_again_at_trimmed() noexcept {
  if (newly_trimmed_.empty()) {
    return;
  }
  for (arena* a : newly_trimmed_) {
    a->ask_for_forks();
  }
  // [A11] The smaller shares are out before this look; partner: a push, then the look at the share. [A23]
  sync::full_fence();
  if (std::any_of(newly_trimmed_.begin(), newly_trimmed_.end(), [](const arena* a) { return may_have_pusher(*a); })) {
    sync::heavy_fence();
  }
  for (arena* a : newly_trimmed_) {
    if (a->has_work(no_isolation, arena::anybody)) {
      dirty_.store(true, sync::relaxed);  // this thread looks at it after its unlock
    }
  }
  newly_trimmed_.clear();
}

// By turns: the first has had its, and goes to the end. Turns are long against the way of a worker from one arena to
// the next. They end before what is dealt, so that the next one has its own from now on.
void resource_manager::take_turns(unsigned number) noexcept {
  if (!had_losers_[number]) {
    return;
  }
  const std::int64_t now_ns = platform::monotonic_ns();
  arena_list& level = wanting_[number];
  if (now_ns - turn_began_ns_ > turn_length_ns && !level.empty()) {
    turn_began_ns_ = now_ns;
    arena_place& first = *level.first();
    level.remove(first);
    level.push_back(first);
  }
}

void resource_manager::serve_level(unsigned number, dealing& all) noexcept {
  arena_list& level = wanting_[number];
  allotment_.begin_level();
  arena_place* next = level.first();
  while (next != nullptr && allotment_.has_left()) {
    arena& a = next->whose;
    next = next->next;
    const bool wants = a.wants_workers();
    const bool has_more = wants && (a.has_work(no_isolation, arena::anybody) || a.in_phase());
    if (!wants || (!has_more && a.account().workers.load(sync::relaxed) == 0 &&
                   a.stand_down(arena::pushers::may_come, slot_of_this_thread(a)))) {
      unlist(a);  // its own threads did the work before a worker came
    } else {
      allotment_.offer(demand_of(a, has_more, all));
    }
  }
  const allotment::level_result result = allotment_.end_level(next != nullptr);
  const std::span<const allotment::portion> portions = allotment_.portions_of_level();
  had_losers_[number] = result.has_losers && !portions.empty();
  if (had_losers_[number] &&
      std::any_of(portions.begin(), portions.end(), [](const allotment::portion& p) { return p.is_mandatory; })) {
    mandatory_turn_ends_ns_.store(turn_began_ns_ + turn_length_ns, sync::relaxed);  // [A27]
  }
  all.has_losers = all.has_losers || result.has_losers;
  if (result.is_crowded) {
    all.crowded_level = std::min(all.crowded_level, number);
  }
}

arena_demand resource_manager::demand_of(arena& a, bool has_more, dealing& all) noexcept {
  if (a.max_workers() != 0 && allotment_.gives_mandatory_only(a.cpus_by_domain(), a.is_of_one_domain()) &&
      (a.has_enqueued() || a.account().kept.load(sync::relaxed))) {
    // [A12] Enqueued, or left behind, while workers were allowed. relaxed: whoever enqueues behind this look sets it.
    a.account().mandatory.store(true, sync::relaxed);
  }
  worker_account& account = a.account();
  if (has_more) {
    std::fill(account.searching.begin(), account.searching.end(), 0);
  } else {
    a.count_outer_searchers(account.searching);
    if (all.keep == keep_young::yes && a.may_go_on_soon() && a.leave_out_young(account.searching)) {
      all.kept_young = true;
    }
  }
  for (const domain_index d : all_domains()) {
    const int present = std::max(0, a.domain(d).active.load(sync::relaxed));
    account.present[to_index(d)] = present;
    int& searching = account.searching[to_index(d)];
    searching = std::clamp(searching, 0, present);
  }
  return {.whose = &a,
          .cpus = a.cpus_by_domain(),
          .present = account.present,
          .searching = account.searching,
          .share = a.account().share,
          .workers_max = a.max_workers(),
          .workers = static_cast<unsigned>(std::max(0, a.account().workers.load(sync::relaxed))),
          .has_more = has_more,
          .is_mandatory = a.account().mandatory.load(sync::relaxed),
          .is_of_one_domain = a.is_of_one_domain()};
}

void resource_manager::settle(const allotment::portion& p) noexcept {
  arena& a = *p.of.whose;
  a.account().served_in = allotment_number_;
  served_.push_back(&a);
  bool shrank = !set_if_other(a.account().trimmed, p.is_trimmed);
  // In some domain: its workers may be the idle ones. Or a share that was void has become one for everything.
  bool grew = set_if_other(a.account().mandatory_share, p.is_mandatory) && !p.is_mandatory;
  for (const domain_index d : all_domains()) {
    const int share = a.account().share[to_index(d)];
    const int before = set_if_other(a.domain(d).allotted, share);
    grew = grew || before < share;
    shrank = shrank || before > share;
  }
  if (p.is_trimmed && shrank) {
    newly_trimmed_.push_back(&a);
  }
  if (set_if_other(a.account().allotted, static_cast<int>(p.given)) != static_cast<int>(p.given)) {
    a.account().starved.store(0, sync::relaxed);
  }
  if (grew && available() > 0) {
    call_later(a);
  }
}

}  // namespace homing::scheduler
