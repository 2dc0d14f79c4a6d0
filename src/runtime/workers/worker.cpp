/// The manager's threads: how one is made, woken, sent to an arena, and put to sleep.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "platform/check.hpp"
#include "platform/clock.hpp"
#include "platform/env.hpp"
#include "runtime/arena/arena.hpp"
#include "runtime/dispatch/dispatch.hpp"
#include "runtime/search/search_pace.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {

/// Under the domain's lock. In all first: who finds one in all, and none in any domain, would look again and again.
void resource_manager::count_off_idle(domain_state& d) noexcept {
  const int before = idle_.fetch_sub(1, sync::relaxed);
  const int before_here = d.idle.fetch_sub(1, sync::relaxed);
  platform::require(before_here > 0 && before > 0,
                    "S1: each idle worker on its list is counted, in its domain and in all");
}

worker* resource_manager::pop_idle(domain_index domain) noexcept {
  domain_state& d = state_of(domain);
  if (d.idle.load(sync::relaxed) == 0) {
    return nullptr;
  }
  const sync::scoped_spin_lock hold(d.lock);
  worker* const w = d.idle_workers.pop_front();
  if (w != nullptr) {
    count_off_idle(d);
  }
  return w;
}

/// For work. `slept`: the worker idled until now, and is not new.
void resource_manager::wake(worker& w, bool slept) noexcept {
  w.parker.unpark();
  if (slept && this_thread_or_null != nullptr) {
    this_thread_or_null->counters.add(observe::event::wakeup);
  }
}

/// A worker that is on no list, to an arena with a place reserved.
void resource_manager::send(worker& w, arena& a, domain_index domain, bool slept) noexcept {
  // [S4] It counts as searching from here on, so that the next push does not wake a second one.
  a.search().transfer_to(domain, {});
  platform::require_hot([&] { return w.assigned == nullptr; }, "S4: an idle worker is sent once");
  w.assigned = &a;
  wake(w, slept);
}

bool resource_manager::send_worker(arena& a, domain_index home, unsigned domains, turned_away patience) noexcept {
  const sent how = send_one_of_share(a, home, domains, patience);
  if (how == sent::none_there) {
    call_stand_in(home);  // [A26] whatever its patience: others may have found the place taken by it
  }
  return how == sent::one;
}

resource_manager::sent resource_manager::send_one_of_share(arena& a, domain_index home, unsigned domains,
                                                           turned_away patience) noexcept {
  const auto nearest = machine_.nearest_first(home);
  bool took_last_place = false;
  sent how = sent::none_has_place;
  for (unsigned i = 0; i != domains; ++i) {
    const domain_index d = nearest[i];
    if (!reserve(a, d)) {
      continue;
    }
    took_last_place = took_last_place || !a.has_unfilled_share();
    const fetched f = fetch_worker(d, patience);
    if (f.who != nullptr) {
      send(*f.who, a, d, f.slept);
      return sent::one;
    }
    unreserve(a, d);
    how = sent::none_there;
    // [S7] A worker that announced itself meanwhile saw our reservation and not the work: the reservation is given back
    // before this look at the idle; partner: its announcement, then its look at the counts. [A25] [A15] So did whoever
    // made it possible to make one; partner: the limit or the end of a refusal, a fence, then the look at the places.
    sync::full_fence();
    if ((f.lacking ? idle_ : state_of(d).idle).load(sync::relaxed) > 0 ||
        (f.unlocked ? !is_complete(d) : could_be_made(d, patience))) {
      --i;
    }
  }
  if (took_last_place && send_idle_one(a, nearest) < domains) {
    return sent::one;
  }
  if (how == sent::none_there) {
    ask_if_trimmed(a);
  }
  return how;
}

/// [S7] For who has given a place back, behind a fence. Whoever took it for the last worker that the arena may have
/// asked for no allotment. The share may have been trimmed meanwhile, without that place [A9].
void resource_manager::ask_if_trimmed(arena& a) noexcept {
  if (!a.has_unfilled_share() && a.account().trimmed.load(sync::relaxed) && a.has_work(no_isolation, arena::anybody)) {
    demand_changed();
  }
}

/// [S7] Whoever found our reservation to be the last place of the arena called nobody, of whatever domain. That can be
/// another one than those looked at: where workers stay in a domain beyond its share, others' shares are unfilled.
/// The worker is taken before the place: a place that is given back once more might be one that others relied on.
/// The domain's place among the nearest, or the number of domains: nobody was sent.
unsigned resource_manager::send_idle_one(arena& a, std::span<const domain_index> nearest) noexcept {
  for (unsigned i = 0; i != domain_count_ && idle_.load(sync::relaxed) > 0; ++i) {
    const domain_index d = nearest[i];
    const arena_domain& there = a.domain(d);
    if (there.active.load(sync::relaxed) >= there.allotted.load(sync::relaxed)) {
      continue;
    }
    if (worker* const w = pop_idle(d)) {
      if (reserve(a, d)) {
        send(*w, a, d, true);
        return i;
      }
      wake(*w, true);  // it looks for work anew
    }
  }
  return domain_count_;
}

void* resource_manager::worker_entry(void* argument) {
  auto& w = *static_cast<worker*>(argument);
  w.manager->worker_main(w);
  return nullptr;
}

namespace {

/// When it comes from its first arena: until then there may be a young process that waits for all its threads to work.
using thread_name = std::array<char, 16>;  // as long as Linux's

thread_name name_of_this_thread() noexcept {
  thread_name name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name;
}

void name_this_thread(unsigned number) noexcept {
  thread_name name{"homing-"};
  std::to_chars(name.data() + std::strlen(name.data()), name.data() + name.size() - 1, number);
  pthread_setname_np(pthread_self(), name.data());
}

}  // namespace

void resource_manager::worker_main(worker& w) {
  w.parker.park();  // until its maker has assigned it
  if (w.assigned != nullptr) {
    if (!w.assigned->make_others(w.domain)) {  // [S19] before it settles in
      w.assigned->call_others(w.domain, 1);
    }
  }
  will_make_others_.fetch_sub(1, sync::relaxed);
  w.thread_id.store(::gettid(), sync::relaxed);
  thread_state* t = register_worker(w);
  std::chrono::nanoseconds awake{0};
  std::int64_t left_ns = 0;
  std::optional<thread_name> inherited = name_of_this_thread();
  while (arena* a = t != nullptr ? next_assignment(w, awake) : nullptr) {
    if (t->domain != w.domain) {  // it has moved [A17]
      t->move_to_domain(w.domain, domain_count_);
      bind_worker(w);
    }
    t->was_called_soon = platform::monotonic_ns() - left_ns < wait_in_serial_part(settings_.search_budget).count();
    awake = work_in_arena(*t, *a);
    left_ns = platform::monotonic_ns();
    if (inherited) {  // after the first work, and not if that has given the thread a name of the program's
      if (name_of_this_thread() == *inherited) name_this_thread(w.index);
      inherited.reset();
    }
  }
  leave_this_thread();
}

/// Its record. While memory lacks for one it gives its assignment back and tries again. Null: the end.
thread_state* resource_manager::register_worker(worker& w) noexcept {
  for (std::int64_t wait_ns = 1'000'000;; wait_ns = std::min<std::int64_t>(2 * wait_ns, 100'000'000)) {
    try {
      bind_worker(w);
      return &make_this_thread(thread_kind::worker, w.domain, w.stack_bytes);
    } catch (const std::bad_alloc&) {
      static sync::atomic<bool> said{false};
      if (!said.exchange(true, sync::relaxed)) {  // relaxed: only who is first matters
        platform::warn("cannot use worker thread %u: no memory for its record; trying again until there is", w.index);
      }
      if (arena* a = std::exchange(w.assigned, nullptr)) {
        give_back(*a, w.domain);
      }
      if (std::exchange(w.stands_by, false)) {
        hand_on_stand_by(w.domain);
      }
    }
    if (stopping_.load(sync::relaxed)) {
      return nullptr;
    }
    w.parker.park_for(wait_ns);  // nobody has it on a list: this ends by the time
  }
}

/// Under the lock: whether the caller may go there, with the place reserved and the search mark made.
bool resource_manager::take_share(arena& a, domain_index domain) noexcept {
  const arena_domain& here = a.domain(domain);
  if (here.active.load(sync::relaxed) >= here.allotted.load(sync::relaxed) || !a.has_work(no_isolation, domain) ||
      !a.worker_could_enter() || !reserve(a, domain)) {
    return false;
  }
  a.search().transfer_to(domain, {});
  return true;
}

arena* resource_manager::find_work(domain_index domain, bool& stands_by, arena_list& to_call) noexcept {
  arena* found = nullptr;
  bool needs_another = false;
  {
    const holder hold(*this);
    if (is_out_of_date()) {
      allot();
    }
    // By priority, as the allotment went through them. One that refuses, since another worker has just taken its last
    // place or its share is void [A14], must not hide the next one: this may be the look that S1's pusher relies on.
    for (arena* a : served_) {
      if (found == nullptr && a->has_unfilled_share() && take_share(*a, domain)) {
        found = a;
      } else if ((domain_count_ > 1 || found != nullptr) && available() > 0) {
        // [A10] It waits for a worker of another domain, or for this one, who goes elsewhere.
        const std::optional<domain_index> lacking = unfilled_domain(*a, domain);
        if (lacking && (found != nullptr || *lacking != domain)) {
          call_later(*a);
          needs_another = needs_another || *lacking != domain;
        }
      }
    }
    to_call = take_to_call();
  }
  stands_by = stands_by || (needs_another && begin_stand_by());  // before the calls: they call no stand-in then [A26]
  return found;
}

/// A worker that was counted as searching there has no use for it: the arena gets another.
void resource_manager::give_back(arena& a, domain_index domain) noexcept {
  a.search().withdraw(domain);
  a.add_reference();
  unreserve(a, domain);
  a.call_instead(domain);
  a.drop_reference();
}

void resource_manager::announce_idle(worker& w) noexcept {
  domain_state& d = state_of(w.domain);
  const sync::scoped_spin_lock hold(d.lock);
  d.idle_workers.push_front(w);
  // [S1] Announced before the last look; partner S2 (a push, then the look at these counts).
  d.idle.fetch_add(1, sync::relaxed);
  idle_.fetch_add(1, sync::relaxed);
}

bool resource_manager::take_back_idle(worker& w, domain_index domain) noexcept {
  domain_state& d = state_of(domain);
  const sync::scoped_spin_lock hold(d.lock);
  if (!w.listed) {
    return false;
  }
  d.idle_workers.remove(w);
  count_off_idle(d);
  return true;
}

/// For a worker that was idle, and found an arena at its last look or has to end (null).
arena* resource_manager::choose_assignment(worker& w, arena* found, domain_index domain) noexcept {
  if (take_back_idle(w, domain)) {
    return found;
  }
  w.parker.park();  // a waker has taken this worker: its token and assignment are there or about to be
  if (found != nullptr && (w.assigned != nullptr || w.ends)) {
    give_back(*found, domain);  // two arenas want it, or it ends [A28]; the found one gets another
    found = nullptr;
  }
  return found != nullptr ? found : std::exchange(w.assigned, nullptr);
}

/// [S1] The last look of a worker that has announced itself. True if there is nothing for it; else it is on no list,
/// and has an arena or must ask anew.
bool resource_manager::finds_nothing(worker& w, domain_index domain, arena*& chosen, bool& stands_by) noexcept {
  arena_list to_call;
  // [A18] find_work() takes the manager's lock, under which a stop is set: whoever sees none behind it has announced
  // itself before, and is seen by the stop.
  arena* const found = stopping_.load(sync::relaxed) ? nullptr : find_work(domain, stands_by, to_call);
  const bool stays = found == nullptr && !stopping_.load(sync::relaxed);
  if (!stays) {
    chosen = choose_assignment(w, found, domain);  // before the calls, which would else find it idle
  }
  call_for(to_call);
  return stays;
}

/// Idle, but awake: whoever calls need not wake it. True if somebody has called within that time.
bool resource_manager::is_called_within(std::chrono::nanoseconds time, worker& w) noexcept {
  search_pace pace;
  while (!w.parker.has_token()) {
    if (!pace.pause(time, [&w] { return w.parker.has_token(); })) {
      return false;
    }
  }
  w.parker.park();  // takes the token
  return true;
}

arena* resource_manager::next_assignment(worker& w, std::chrono::nanoseconds awake) noexcept {
  bool stands_by = false;
  arena* const next = await_assignment(w, awake, stands_by);
  if (std::exchange(w.stands_by, false) || stands_by) {
    hand_on_stand_by(w.domain);  // [A26]
  }
  platform::require(next == nullptr || !w.ends, "A28: a worker that is ended goes to no arena");
  return next;
}

arena* resource_manager::await_assignment(worker& w, std::chrono::nanoseconds awake, bool& stands_by) noexcept {
  for (bool has_rested = false;; awake = std::chrono::nanoseconds{0}, has_rested = true) {
    stands_by = std::exchange(w.stands_by, false) || stands_by;
    if (w.assigned != nullptr) {
      if (has_rested) {
        w.assigned->call_others(w.domain, 2);  // [S19] one task wakes one worker
      }
      return std::exchange(w.assigned, nullptr);
    }
    if (w.ends || stopping_.load(sync::relaxed)) {
      return nullptr;  // on no list: nobody assigns it any more, and what is left is called for after the stop [A18]
    }
    look_at_machine(look_of_workers_ns);
    const domain_index here = w.domain;  // while it is on the list its waker may move it [A17]
    arena_list to_call;
    arena* const found = find_work(here, stands_by, to_call);
    call_for(to_call);
    if (found != nullptr) {
      return found;
    }
    announce_idle(w);
    ask_all_lanes();
    arena* chosen = nullptr;
    bool rests = true;
    if (awake.count() > 0) {
      // [S18] Without a fence: what this look misses is seen by the last one, behind the heavy fence.
      rests = finds_nothing(w, here, chosen, stands_by) && !is_called_within(awake, w);
    }
    if (rests) {
      ask_all_lanes();
      if (std::exchange(stands_by, false)) {
        end_stand_by();  // [A26] before its last look
      }
      sync::heavy_fence();
      rests = finds_nothing(w, here, chosen, stands_by);
    }
    if (rests && stands_by) {
      chosen = stand_in_unless_called(w, here);
    } else if (rests) {
      // [S5] [A15] This worker may be the one that was refused another, of a domain that it can't stand in for.
      while (!park(w.parker)) {
      }
    }
    if (chosen != nullptr) {
      return chosen;
    }
  }
}

/// Under the lock, when other workers can be made than before: the arenas to be called for. [A12] [A15] [A18] [A25] Who
/// called meanwhile got nobody, and who pushed saw nobody who could come: workers can be made before this look (the
/// fence is publish_limit()'s); partner: a push, then the look at available().
resource_manager::arena_list resource_manager::see_who_called() noexcept {
  count_makeable();
  publish_limit();
  return allot_and_take_to_call();
}

/// Not only arenas whose shares have grown: a worker of another one's share can be made since.
resource_manager::arena_list resource_manager::allot_and_take_to_call() noexcept {
  allot();
  for (arena* a : served_) {
    call_later(*a);
  }
  return take_to_call();
}

void resource_manager::stop_workers() noexcept {
  const std::lock_guard one_at_a_time(stop_lock_);
  worker* all = nullptr;
  {
    const holder hold(*this);
    stopping_.store(true, sync::relaxed);  // under the lock, which each worker takes before its last look
  }
  wait_for_makings();
  {
    const holder hold(*this);
    all = std::exchange(first_worker_, nullptr);
  }
  for (const domain_index d : all_domains()) {
    while (worker* w = pop_idle(d)) {
      w->parker.unpark();
    }
  }
  for (; all != nullptr; all = all->next_made) {
    pthread_join(all->thread, nullptr);
  }
  arena_list waiting;
  {
    const holder hold(*this);
    free_workers();
    made_.store(0, sync::relaxed);
    for (const domain_index d : all_domains()) {
      state_of(d).made.store(0, sync::relaxed);
    }
    stopping_.store(false, sync::relaxed);
    waiting = see_who_called();
  }
  memory_of_arenas_.free_all();
  call_for(waiting);
}

}  // namespace homing::scheduler
