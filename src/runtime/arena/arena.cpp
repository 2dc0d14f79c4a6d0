#include "runtime/arena/arena.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <vector>

#include "platform/check.hpp"
#include "platform/clock.hpp"

namespace homing::scheduler {

namespace {

/// CPUs that satisfy the request, by domain; all if none does.
void count_cpus(const topology::machine& machine, const arena_request& request,
                std::span<unsigned> by_domain) noexcept {
  machine.count_allowed_cpus(request.constraints, by_domain);
  if (request.only_domain) {
    const unsigned there = by_domain[to_index(*request.only_domain)];
    std::fill(by_domain.begin(), by_domain.end(), 0U);
    by_domain[to_index(*request.only_domain)] = there;
  }
  if (std::accumulate(by_domain.begin(), by_domain.end(), 0U) == 0) {
    machine.count_allowed_cpus({}, by_domain);
  }
}

unsigned concurrency_of(const worker_supplier& supplier, const arena_request& request) {
  const topology::machine& machine = supplier.settings().machine;
  if (request.max_concurrency > 0) {
    return static_cast<unsigned>(request.max_concurrency);
  }
  if (request.only_domain) {
    std::vector<unsigned> cpus(supplier.settings().domain_count);
    count_cpus(machine, request, cpus);
    return cpus[to_index(*request.only_domain)];
  }
  return request.constraints != topology::constraints_query{} ? machine.concurrency(request.constraints)
                                                              : supplier.default_concurrency();
}

}  // namespace

arena::size arena::size_for(const worker_supplier& supplier, const arena_request& request) {
  const unsigned most = std::clamp(concurrency_of(supplier, request), 1U, unsigned{first_domain_affinity} - 1U);
  const unsigned reserved = std::min(request.reserved_slots, most);
  // Mandatory concurrency needs a slot for a worker even where one slot was asked for.
  return {most, reserved, {reserved == 0 ? most : std::max(2U, most), supplier.settings().domain_count}};
}

std::size_t arena::size::bytes() const noexcept {
  return sizeof(arena) + bytes_for(places) + worker_account::bytes_for(places.domains) +
         places.domains * sizeof(unsigned);
}

arena& arena::make(worker_supplier& supplier, const arena_request& request) {
  const size s = size_for(supplier, request);
  void* const block = supplier.memory_of_arenas().take(s.bytes());
  try {
    return *new (block) arena(supplier, request, s, arena_room(static_cast<std::byte*>(block) + sizeof(arena)));
  } catch (...) {
    supplier.memory_of_arenas().put(block, s.bytes());
    throw;
  }
}

void arena::end() noexcept {
  const std::size_t bytes = size{max_concurrency_, reserved_slots_, {slot_count(), domain_count()}}.bytes();
  arena_memory& memory = supplier_.memory_of_arenas();
  this->~arena();
  memory.put(this, bytes);
}

arena::arena(worker_supplier& supplier, const arena_request& request, const size& s, arena_room room)
    : work_places(room, s.places, request.steal.value_or(supplier.settings().steal), supplier.settings().mailbox_idle),
      supplier_(supplier),
      request_(request),
      max_concurrency_(s.max_concurrency),
      reserved_slots_(s.reserved_slots),
      max_workers_(s.max_concurrency - s.reserved_slots),
      searchers_(*this, *this),
      account_(*this, room, s.places.domains),
      sleepers_(*this, searchers_),
      cpus_by_domain_(room.make<unsigned>(s.places.domains)) {
  count_cpus(settings().machine, request, cpus_by_domain_);
  deal_slots(cpus_by_domain_);
  supplier.link(*this);
}

/// The slot that it had, where it finds its caches and its mail; else one of its domain; else any that is not reserved.
slot_id arena::occupy_for_worker(const thread_state& t) noexcept {
  // last_arena is an address only: another arena, of another size, may live there now.
  if (t.last_arena == this && to_index(t.last_slot) >= reserved_slots_ && to_index(t.last_slot) < slot_count() &&
      slot(t.last_slot).hold.try_take()) {
    return t.last_slot;
  }
  const arena_domain& own = domain(t.domain);
  const slot_id found = occupy_first_free(std::max(own.first_slot, reserved_slots_), own.last_slot);
  return found != no_slot ? found : occupy_first_free(reserved_slots_, slot_count());
}

void arena::tell_others_that_slot_is_free(slot_id number) noexcept {
  if (sleepers_.any_for_slot()) {
    sleepers_.call_for_slot();
  }
  if (missed_wake_.take()) {  // [A7]
    call_for_work_left(slot(number).home);
  }
  if (thieves_stay() && !slot(number).tasks.looks_empty()) {
    // [S10] What its thread has left is everybody's now.
    call_somebody({.home = slot(number).domain.load(sync::relaxed)}, reach::all);
  }
  if (is_without_workers() && !resumed.empty()) {
    want_mandatory_worker_if_deserted();  // [A20] it may have been the last one who could go on with that stack
  }
}

bool arena::is_deserted() const noexcept {
  return std::none_of(slots().begin(), slots().end(), [](const arena_slot& s) { return s.hold.is_held(); });
}

bool arena::has_free_worker_slot() const noexcept {
  const auto for_workers = slots().subspan(reserved_slots_);
  return std::any_of(for_workers.begin(), for_workers.end(), [](const arena_slot& s) { return !s.hold.is_held(); });
}

bool arena::worker_could_enter() noexcept {
  if (has_free_worker_slot()) {
    return true;
  }
  missed_wake_.note();  // [A7] before the second look
  return has_free_worker_slot();
}

bool arena::post(affinity to, std::uintptr_t item, std::uint64_t tag) {
  if (!names_slot(to) || !slot(slot_of(to)).hold.is_held()) {
    const arena_domain& home = domain(home_of(to));
    // Where thieves stay, nobody else could take it: it waits for whoever comes, or for its maker. [S10]
    if (!thieves_stay() && mailbox_idle() == idle_rule::homing && home.active.load(sync::relaxed) == 0 &&
        home.allotted.load(sync::relaxed) == 0 && searching.in_domain(home_of(to)) == 0 &&
        account_.busy.load(sync::relaxed) && !sleepers_.any()) {
      return false;  // nobody of that domain is here or expected: mail would only pile up
    }
  }
  return put_into_mailbox(to, item, tag);
}

template <typename Call>
void arena::for_work_left(domain_index home, Call&& call) noexcept {
  if (!thieves_stay()) {
    if (has_work(no_isolation, anybody) || in_phase()) {
      call(home, reach::all);
    }
    return;
  }
  if (!resumed.empty() || has_common_task({})) {
    call(home, reach::all);
  }
  for (const domain_index d : all_domains()) {
    if (searchers_.nobody_in(d) && has_work(no_isolation, d)) {
      call(d, reach::home);
    }
  }
}

void arena::call_for_work_left(domain_index home) noexcept {
  for_work_left(home, [this](domain_index d, reach who) { call_somebody({.home = d}, who); });
}

void arena::call_allotted_for_work_left(domain_index home) noexcept {
  for_work_left(home, [this](domain_index d, reach who) { call_allotted({.home = d}, who); });
}

void arena::call_instead(domain_index home) noexcept {
  // [S3] Who pushed meanwhile relied on the thread that does not come. A sleeper is called only for work that is seen.
  sync::heavy_fence();
  if (thieves_stay() && searchers_.nobody_in(home)) {
    call_somebody({.home = home}, reach::home);
  }
  new_common_work({.home = home});
}

void arena::new_common_work(const work_call& call) noexcept {
  sync::full_fence();  // the pusher may have no slot here [A23]
  if (searchers_.nobody_for(call.kind) && could_come()) {
    call_somebody(call, reach::all);
  }
}

void arena::new_work_that_stays(work_call call, const arena_slot& where) noexcept {
  call.home = where.domain.load(sync::relaxed);
  if (__builtin_expect(where.absent.load(sync::relaxed), false)) {
    call_for_work_left(call.home);  // [S15] everybody's
    return;
  }
  if (searchers_.nobody_in(call.home) && could_come()) {
    call_somebody(call, reach::home);
  }
}

void arena::uncovered_work(const arena_slot& where) noexcept {
  const work_call call{work_kind::unknown, no_isolation, where.domain.load(sync::relaxed)};
  searchers_.pushers_fence();
  if (thieves_stay()) {
    new_work_that_stays(call, where);
  } else if (searchers_.nobody_seen_from(call.home) && could_come()) {
    call_somebody(call, reach::all);
  }
}

// [A23] Where nobody is inside who pushes behind light fences, a full fence does.
void arena::see_pushes(slot_id this_slot) noexcept {
  sync::full_fence();
  if (may_have_pusher(this_slot)) {
    sync::heavy_fence();
  }
}

slot_id arena::admit_worker(thread_state& t) noexcept {
  drop_kept_reference();
  slot_id number = occupy_slot(t, thread_kind::worker);
  if (number == no_slot && worker_could_enter()) {
    number = occupy_slot(t, thread_kind::worker);
  }
  if (number == no_slot) {
    worker_found_no_slot(t);
    worker_leaves(t.domain, no_slot);
  }
  return number;
}

void arena::worker_found_no_slot(const thread_state& t) noexcept {
  searchers_.withdraw(t.domain);
  // [S3] Who pushed meanwhile relied on this worker. Application threads fill the arena; one of them may be asleep in a
  // wait, and must be seen to have no work by a look behind the fence.
  sync::heavy_fence();
  static_cast<void>(sleepers_.wake({.home = t.domain}, reach::all));
}

bool arena::stand_down(pushers who, slot_id this_slot) noexcept {
  if (has_work(no_isolation, anybody)) {
    return false;
  }
  // [A3] Not busy, unless work shows after the fence; partner: a push, then the look at `busy`.
  // relaxed, all: the fence is behind them, and the exchange of `listed` [A9] where it is taken back.
  const bool was_mandatory = account_.mandatory.exchange(false, sync::relaxed);
  account_.busy.store(false, sync::relaxed);
  ask_for_forks();
  if (who == pushers::gone) {
    return true;
  }
  see_pushes(this_slot);
  if (!has_work(no_isolation, anybody)) {
    return true;
  }
  if (was_mandatory) {
    account_.mandatory.store(true, sync::relaxed);
  }
  account_.busy.store(true, sync::relaxed);
  supplier_.list_newcomer(*this);
  return false;
}

void arena::worker_leaves(domain_index from, slot_id this_slot) noexcept {
  const int before_here = domain(from).active.fetch_sub(1, sync::relaxed);
  // release: what this worker did is done; partner: has_workers().
  const int before = account_.workers.fetch_sub(1, sync::release);
  platform::require(before > 0 && before_here > 0, "A3: a worker that leaves was counted in its arena and domain");
  if (before != 1) {
    return;
  }
  // [A14] Its share stays its own until somebody else asks, so that its next work need not ask again.
  const pushers who = account_.is_last_reference() ? pushers::gone : pushers::may_come;  // ours is dropped after this
  if (who == pushers::may_come && supplier_.allottable_workers() == 0 && !account_.mandatory.load(sync::relaxed)) {
    return;  // it goes on wanting workers: whoever allows some looks. A hint: this worker looks again before it sleeps
  }
  if (!stand_down(who, this_slot) || supplier_.unmet()) {
    supplier_.demand_changed();
  }
}

int arena::workers_wanted() const noexcept {
  return static_cast<int>(max_workers_ == 0 && account_.mandatory.load(sync::relaxed) ? 1U : max_workers_);
}

bool arena::could_come() const noexcept {
  if (!account_.busy.load(sync::relaxed) || sleepers_.any()) {
    return true;
  }
  // [A12] Where no worker is allowed, whoever changes that looks for work behind a heavy fence [A23]; partner: a push.
  return account_.workers.load(sync::relaxed) < workers_wanted() &&
         (supplier_.allottable_workers() != 0 || account_.mandatory.load(sync::relaxed)) &&
         (supplier_.available() > 0 || account_.trimmed.load(sync::relaxed) || supplier_.refusal_has_ended());
}

void arena::call_for_spawned_work(isolation_tag isolation, domain_index home) noexcept {
  if (could_come()) {
    call_somebody({work_kind::spawned, isolation, home}, reach::all);
  }
}

void arena::new_spawned_work_that_stays(isolation_tag isolation, const arena_slot& where) noexcept {
  new_work_that_stays({work_kind::spawned, isolation}, where);
}

void arena::call_somebody(const work_call& call, reach who) noexcept {
  const bool rested = account_.workers.load(sync::relaxed) == 0;
  if (rested) {
    expect_workers();  // [S19] before any worker can have found a task
  }
  call_one(call, who);
  if (rested) {
    // [S19] Where threads are made still, two make the others. Not if nobody could be sent.
    if (account_.workers.load(sync::relaxed) != 0 && account_.called_for_deques.load(sync::relaxed) &&
        has_use_for_another()) {
      static_cast<void>(supplier_.make_worker(*this, call.home));
    }
    for (unsigned called = 1; called != others_called && take_expected_call() && call_another(call.home); ++called) {
    }
  }
}

/// Two that call at the same time may both do it: the counts are hints.
void arena::expect_workers() noexcept {
  // One worker may have come several times, and the first call is made in any case.
  const int useful = static_cast<int>(std::min(useful_workers_.load(sync::relaxed), max_workers_));
  expected_calls_.store(useful - 1, sync::relaxed);
  useful_workers_.store(0, sync::relaxed);
}

bool arena::take_expected_call() noexcept {
  return expected_calls_.load(sync::relaxed) > 0 && expected_calls_.fetch_sub(1, sync::relaxed) > 0;
}

void arena::call_one(const work_call& call, reach who) noexcept {
  const domain_index home = call.home;
  account_.called_for.store(home, sync::relaxed);
  account_.called_for_deques.store(
      call.kind == work_kind::spawned || call.kind == work_kind::mailed || call.kind == work_kind::unknown,
      sync::relaxed);
  leaves_fast_once_.store(false, sync::relaxed);
  if (account_.become_busy()) {
    if (supplier_.demand_rose(*this, home)) {
      return;
    }
    if (!searchers_.nobody_for(call.kind, home)) {
      return;  // the new allotment has called a worker of that domain already (A8): one is enough
    }
  } else if (!has_unfilled_share() && !sleepers_.any()) {
    const bool trimmed = account_.trimmed.load(sync::relaxed);
    const bool idle = supplier_.available() > 0;
    // Workers sleep, and this arena may not have them: another may hold an allotment that it no longer needs. Or this
    // one's share was trimmed for want of work, and others, never idle, have the rest. [A9]
    if ((trimmed && idle) ||
        ((trimmed || idle) && account_.starved.fetch_add(1, sync::relaxed) % starved_calls_per_look == 0)) {
      supplier_.demand_changed();
    }
  }
  call_allotted(call, who);
}

void arena::call_allotted(const work_call& call, reach who) noexcept {
  if (has_unfilled_share() && worker_could_enter() &&
      supplier_.send_worker(*this, call.home, who == reach::home ? 1 : domain_count(), turned_away::waits)) {
    return;
  }
  if (sleepers_.any()) {
    static_cast<void>(sleepers_.wake(call, who));
  }
}

void arena::call_others(domain_index home, unsigned tasks_min) noexcept {
  if (!account_.called_for_deques.load(sync::relaxed)) {
    return;  // without a look at every slot
  }
  const auto has_use = [&] { return take_expected_call() || has_tasks_for(std::max(tasks_min, searching.in_all())); };
  for (unsigned i = 0; i != others_called && has_use(); ++i) {
    if (!call_another(home)) {
      return;
    }
  }
}

bool arena::make_others(domain_index home) noexcept {
  unsigned made = 0;
  while (made != others_made && account_.called_for_deques.load(sync::relaxed) && has_use_for_another() &&
         supplier_.make_worker(*this, home)) {
    ++made;
  }
  return made == others_made;
}

bool arena::call_another(domain_index home) noexcept {
  return has_use_for_another() && supplier_.send_worker(*this, home, domain_count(), turned_away::gives_up);
}

bool arena::has_use_for_another() const noexcept {
  return !thieves_stay() && has_unfilled_share() && has_free_worker_slot();
}

void arena::call_workers_for_phase() noexcept {
  if (account_.become_busy()) {
    static_cast<void>(supplier_.demand_rose(*this, domain_index{0}));
  }
  // Each once: where so many are called that the first have looked in vain before the last comes, it would never end.
  for (unsigned left = max_workers(); left != 0 && has_unfilled_share() && worker_could_enter() &&
                                      supplier_.send_worker(*this, domain_index{0}, domain_count(), turned_away::waits);
       --left) {
  }
}

bool arena::worker_should_leave(const thread_state& t) const noexcept {
  return account_.workers.load(sync::relaxed) > account_.allotted.load(sync::relaxed) ||
         domain(t.domain).active.load(sync::relaxed) > domain(t.domain).allotted.load(sync::relaxed);
}

bool arena::may_go_on_soon() const noexcept {
  const auto reserved = slots().first(reserved_slots_);
  return !shares_cpus() &&
         std::any_of(reserved.begin(), reserved.end(), [](const arena_slot& s) { return s.hold.is_held(); });
}

void arena::count_outer_searchers(std::span<int> by_domain) const noexcept {
  for (const domain_index d : all_domains()) {
    by_domain[to_index(d)] = outer_searchers(searching.in_domain(d));
  }
}

bool arena::leave_out_young(std::span<int> by_domain) const noexcept {
  const std::int64_t long_ago_ns = platform::monotonic_ns() - just_now_ns;
  bool left_out = false;
  for (const domain_index d : all_domains()) {
    const auto looks_for_long = [&](const arena_slot& s) {
      return s.searching.is_set() && s.domain.load(sync::relaxed) == d &&
             s.searches_since_ns.load(sync::relaxed) < long_ago_ns;
    };
    const auto of_workers = slots().subspan(reserved_slots_);
    const auto old = static_cast<int>(std::count_if(of_workers.begin(), of_workers.end(), looks_for_long));
    int& here = by_domain[to_index(d)];
    left_out = left_out || old < here;
    here = std::min(here, old);  // some of them may be in nested waits
  }
  return left_out;
}

void arena::found_nothing_left() noexcept {
  if (supplier_.unmet() && has_unfilled_share()) {
    supplier_.demand_changed();  // others can use what is left of this arena's share
  }
}

void arena::leave_reference() noexcept {
  if (!give_to_visitor(*this, visitors)) {
    drop_reference();
  }
}

void arena::drop_reference() noexcept {
  worker_supplier& supplier = supplier_;
  // acq_rel: the last one sees what all others did. The arena may be gone after this, unless it was the last. [A4]
  const int before = account_.references.fetch_sub(1, sync::acq_rel);
  platform::require(before > 0, "A4: whoever drops a reference has one");
  if (before == 1) {
    supplier.retire(*this);
  }
}

}  // namespace homing::scheduler
