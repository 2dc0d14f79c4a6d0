#include "runtime/arena.hpp"

#include <algorithm>
#include <numeric>

#include "platform/clock.hpp"
#include "runtime/resource_manager.hpp"

namespace homing::scheduler {
namespace {

/// Slots are dealt to domains in blocks, in proportion to the CPUs that the arena may use in each: neighbours in a
/// static partition then share a domain.
void deal_slots(arena_slot* slots, unsigned count, arena_domain* domains, const std::vector<unsigned>& weights) {
  const unsigned total = std::max(1U, std::accumulate(weights.begin(), weights.end(), 0U));
  unsigned domain = 0;
  unsigned sum = weights[0];
  for (unsigned i = 0; i < count; ++i) {
    while (domain + 1 < weights.size() && std::uint64_t{2} * i * total + total > std::uint64_t{2} * sum * count) {
      domains[domain].last_slot = static_cast<slot_id>(i);
      ++domain;
      domains[domain].first_slot = static_cast<slot_id>(i);
      sum += weights[domain];
    }
    slots[i].home = static_cast<std::uint16_t>(domain);
    slots[i].domain.store(slots[i].home, sync::relaxed);
  }
  domains[domain].last_slot = static_cast<slot_id>(count);
  for (unsigned d = domain + 1; d < weights.size(); ++d) {
    domains[d].first_slot = domains[d].last_slot = static_cast<slot_id>(count);
  }
}

sync::mailbox* mailbox_of(sync::atomic<sync::mailbox*>& place, std::size_t capacity) {
  sync::mailbox* box = place.load(sync::acquire);
  if (box == nullptr) {
    auto fresh = std::make_unique<sync::mailbox>(capacity);
    // acq_rel: publishes the new mailbox, or acquires the one that another poster made.
    if (place.compare_exchange_strong(box, fresh.get(), sync::acq_rel, sync::acquire)) {
      box = fresh.release();
    }
  }
  return box;
}

/// With the mail that nobody has fetched: its tasks were taken from their deques, so each proxy is at its second life.
void delete_mailbox(sync::mailbox* box) noexcept {
  if (box == nullptr) {
    return;
  }
  while (const std::uintptr_t item = box->take([](std::uint64_t) { return true; })) {
    as_proxy(item)->abandon();  // [M8]
  }
  delete box;
}

constexpr std::size_t slot_mail_capacity = 64;

}  // namespace

arena::arena(resource_manager& manager, const arena_request& request)
    : manager_(manager),
      request_(request),
      steal_(request.steal.value_or(manager.steal())),
      stays_(steal_ == steal_policy::domain && manager.domain_count() > 1) {
  const topology::machine& machine = manager.machine();
  domain_count_ = manager.domain_count();
  allowed_by_domain_ = machine.allowed_cpus_by_domain(request.constraints);
  for (unsigned d = 0; d < domain_count_ && request.only_domain >= 0; ++d) {
    allowed_by_domain_[d] = static_cast<int>(d) == request.only_domain ? allowed_by_domain_[d] : 0;
  }
  const bool constrained = request.constraints != topology::constraints_query{};
  if (std::accumulate(allowed_by_domain_.begin(), allowed_by_domain_.end(), 0U) == 0) {
    allowed_by_domain_ = machine.allowed_cpus_by_domain({});
  }
  if (request.max_concurrency > 0) {
    max_concurrency_ = static_cast<unsigned>(request.max_concurrency);
  } else if (request.only_domain >= 0) {
    max_concurrency_ = allowed_by_domain_[static_cast<unsigned>(request.only_domain)];
  } else {
    max_concurrency_ = constrained ? machine.concurrency(request.constraints) : manager.default_concurrency();
  }
  max_concurrency_ = std::clamp(max_concurrency_, 1U, unsigned{first_domain_slot} - 1U);
  reserved_slots_ = std::min(request.reserved_slots, max_concurrency_);
  max_workers_ = max_concurrency_ - reserved_slots_;
  // Mandatory concurrency needs a slot for a worker even where one slot was asked for.
  slot_count_ = reserved_slots_ == 0 ? max_concurrency_ : std::max(2U, max_concurrency_);

  slots_ = std::make_unique<arena_slot[]>(slot_count_);
  domains_ = std::make_unique<arena_domain[]>(domain_count_);
  deal_slots(slots_.get(), slot_count_, domains_.get(), allowed_by_domain_);

  default_context_ =
      std::make_unique<task_group_context>(task_group_context::isolated, task_group_context::fp_settings);
  manager.link(*this);
}

arena::~arena() {
  for (unsigned i = 0; i < slot_count_; ++i) {
    delete_mailbox(slots_[i].mail.load(sync::relaxed));
  }
  for (unsigned d = 0; d < domain_count_; ++d) {
    delete_mailbox(domains_[d].mail.load(sync::relaxed));
  }
}

bool arena::try_occupy(unsigned i) noexcept {
  auto& occupied = slots_[i].occupied;
  // acquire: the last occupant's writes to the slot's deque, released in release_slot(). [A1]
  return !occupied.load(sync::relaxed) && !occupied.exchange(true, sync::acquire);
}

slot_id arena::occupy_slot(thread_state& t, thread_kind comes_as) noexcept {
  const bool is_worker = comes_as == thread_kind::worker;
  unsigned found = slot_count_;
  // last_arena is an address only: another arena, of another size, may live there now.
  if (is_worker && t.last_arena == this && t.last_slot >= reserved_slots_ && t.last_slot < slot_count_ &&
      try_occupy(t.last_slot)) {
    found = t.last_slot;  // a worker that comes back finds its caches and its mail
  } else if (!is_worker) {
    for (unsigned i = 0; i < slot_count_ && found == slot_count_; ++i) {
      if (try_occupy(i)) {
        found = i;
      }
    }
  } else {
    const unsigned first = std::max<unsigned>(domains_[t.domain].first_slot, reserved_slots_);
    const unsigned last = domains_[t.domain].last_slot;
    for (unsigned i = first; i < last && found == slot_count_; ++i) {
      if (try_occupy(i)) {
        found = i;
      }
    }
    for (unsigned i = reserved_slots_; i < slot_count_ && found == slot_count_; ++i) {
      if (try_occupy(i)) {
        found = i;
      }
    }
  }
  if (found == slot_count_) {
    return no_slot;
  }
  slots_[found].domain.store(t.domain, sync::relaxed);
  if (is_worker) {
    t.last_arena = this;
    t.last_slot = static_cast<slot_id>(found);
  }
  return static_cast<slot_id>(found);
}

void arena::release_slot(slot_id number) noexcept {
  // release: the deque and what else belongs to the occupant, to the next one's acquire in try_occupy(). [A1]
  slots_[number].occupied.store(false, sync::release);
  // [A2] The slot is free before the look for those who wait for one; partner: their list entry, then a heavy fence.
  sync::light_fence();
  if (__builtin_expect(slot_waiters_.load(sync::relaxed) != 0, false)) {
    call_slot_waiter();
  }
  if (__builtin_expect(unheard_.load(sync::relaxed), false)) {
    unheard_.store(false, sync::relaxed);
    call_for_work_left(slots_[number].home);
  }
  if (__builtin_expect(stays_, false) && !slots_[number].tasks.looks_empty()) {
    // [S10] What its thread has left is everybody's now.
    call_somebody({.home = slots_[number].domain.load(sync::relaxed)}, reach::all);
  }
  if (__builtin_expect(max_workers_ == 0 && !resumed.empty(), false)) {
    want_mandatory_worker_if_deserted();  // [A20] it may have been the last one who could go on with that stack
  }
}

bool arena::is_deserted() const noexcept {
  return std::none_of(&slots_[0], &slots_[0] + slot_count_,
                      [](const arena_slot& s) { return s.occupied.load(sync::seq_cst); });
}

bool arena::has_free_worker_slot() const noexcept {
  for (unsigned i = reserved_slots_; i < slot_count_; ++i) {
    if (!slots_[i].occupied.load(sync::seq_cst)) {
      return true;
    }
  }
  return false;
}

bool arena::worker_could_enter() noexcept {
  if (has_free_worker_slot()) {
    return true;
  }
  // [A7] Noted before the second look; partner: a freed slot, then the look at the note in release_slot().
  unheard_.store(true, sync::relaxed);
  sync::heavy_fence();
  return has_free_worker_slot();
}

bool arena::post(slot_id affinity, std::uintptr_t item, std::uint64_t tag) {
  const bool to_domain = affinity >= first_domain_slot;
  arena_domain& home = domains_[home_of(affinity)];
  if (to_domain || !slots_[affinity].occupied.load(sync::relaxed)) {
    // Where thieves stay, nobody else could take it: it waits for whoever comes, or for its maker. [S10]
    if (!stays_ && manager_.mailbox_idle() == idle_rule::homing && home.active.load(sync::relaxed) == 0 &&
        home.allotted.load(sync::relaxed) == 0 && home.searchers.load(sync::relaxed) == 0 &&
        busy_.load(sync::relaxed) && sleepers_.load(sync::relaxed) == 0) {
      return false;  // nobody of that domain is here or expected: mail would only pile up
    }
  }
  if (to_domain) {
    return mailbox_of(home.mail, slot_mail_capacity * std::max(4U, slot_count_))->post(item, tag);
  }
  return mailbox_of(slots_[affinity].mail, slot_mail_capacity)->post(item, tag);
}

template <typename Call>
void arena::for_work_left(unsigned home, Call&& call) noexcept {
  if (!stays_) {
    if (has_work(no_isolation, anybody) || in_phase()) {
      call(home, reach::all);
    }
    return;
  }
  if (!resumed.empty() || has_common_task({})) {
    call(home, reach::all);
  }
  for (unsigned d = 0; d < domain_count_; ++d) {
    if (domains_[d].searchers.load(sync::relaxed) == 0 && has_work(no_isolation, d)) {
      call(d, reach::home);
    }
  }
}

void arena::call_for_work_left(unsigned home) noexcept {
  for_work_left(home, [this](unsigned d, reach who) { call_somebody({.home = d}, who); });
}

void arena::call_allotted_for_work_left(unsigned home) noexcept {
  for_work_left(home, [this](unsigned d, reach who) { call_allotted({.home = d}, who); });
}

std::int64_t arena::begin_search(thread_state& t, const search_scope& scope) noexcept {
  // relaxed: the store-load races of the sleep protocol are ordered by its fences (S1, S2), not here.
  const int weight = weight_of(scope);
  searchers_.fetch_add(weight, sync::relaxed);
  domains_[t.domain].searchers.fetch_add(weight, sync::relaxed);
  const std::int64_t now_ns = platform::monotonic_ns();
  t.slot->hungry_since_ns.store(now_ns, sync::relaxed);
  t.slot->hungry.store(true, sync::relaxed);
  return now_ns;
}

void arena::end_search_empty(thread_state& t, const search_scope& scope) noexcept {
  t.slot->hungry.store(false, sync::relaxed);
  domains_[t.domain].searchers.fetch_sub(weight_of(scope), sync::relaxed);
  searchers_.fetch_sub(weight_of(scope), sync::seq_cst);
}

void arena::end_search_found(thread_state& t, const search_scope& scope) noexcept {
  t.slot->hungry.store(false, sync::relaxed);
  const int weight = weight_of(scope);
  // [S3] The last thread that searched takes a task: whoever pushed meanwhile relied on it, so it hands the duty on.
  // [S10] Where thieves stay, pushers rely on the first of these counts. seq_cst, both: see_all_pushes() [S9].
  const int before_here = domains_[t.domain].searchers.fetch_sub(weight, sync::seq_cst);
  const int before = searchers_.fetch_sub(weight, sync::seq_cst);
  if (!somebody_could_come()) {
    return;
  }
  if ((stays_ ? before_here : before) == weight) {
    const unsigned by = stays_ ? t.domain : anybody;
    if (!has_work(no_isolation, by)) {
      see_all_pushes();
      if (!has_work(no_isolation, by)) {
        if (manager_.unmet() && workers_.load(sync::relaxed) < allotted_.load(sync::relaxed)) {
          manager_.demand_changed();  // others can use what is left of this arena's share
        }
        return;
      }
    }
    call_somebody({.home = t.domain}, stays_ && resumed.empty() && !has_common_task({}) ? reach::home : reach::all);
  } else if (scope.takes_enqueued && outer_searchers(stays_ ? before_here : before) == 1) {
    // [S14] Those that still search are in nested waits. Who enqueues has passed a full fence before its look.
    sync::full_fence_after_exchange();
    const unsigned by = stays_ ? t.domain : anybody;
    if (has_enqueued_for(by)) {
      call_somebody({work_kind::enqueued, no_isolation, t.domain}, reach::all);
    }
  }
}

void arena::call_instead(unsigned domain) noexcept {
  if (!stays_) {
    new_common_work({.home = domain});
    return;
  }
  if (domains_[domain].searchers.load(sync::relaxed) == 0) {
    call_somebody({.home = domain}, reach::home);
  }
  new_common_work({.home = domain});
}

void arena::new_common_work(const work_call& call) noexcept {
  pushers_fence();
  if (able_searchers(call.kind, searchers_.load(sync::relaxed)) == 0 && somebody_could_come()) {
    call_somebody(call, reach::all);
  }
}

void arena::new_work_that_stays(work_call call, const arena_slot& where) noexcept {
  call.home = where.domain.load(sync::relaxed);
  if (__builtin_expect(where.absent.load(sync::relaxed), false)) {
    call_for_work_left(call.home);  // [S15] everybody's
    return;
  }
  if (domains_[call.home].searchers.load(sync::relaxed) == 0 && somebody_could_come()) {
    call_somebody(call, reach::home);
  }
}

bool arena::thieves_leave_tasks() const noexcept { return stays_ || manager_.mailbox_idle() == idle_rule::tbb; }

// relaxed, all of it: the slot's own thread writes both, and a heavy fence is between them and its look for work [S15];
// partner: a push, or a searcher that stops, then the look at these. What lies in the deque is handed over by the
// deque.
bool arena::become_absent(arena_slot& s, thread_kind entered_as) noexcept {
  if (s.absent.load(sync::relaxed)) {
    return false;
  }
  s.absent.store(true, sync::relaxed);
  if (entered_as == thread_kind::worker) {
    domains_[s.domain.load(sync::relaxed)].absent.fetch_add(1, sync::relaxed);
  }
  return true;
}

// relaxed: who still finds the mark robs where it need not have.
void arena::end_absence(arena_slot& s, thread_kind entered_as) noexcept {
  if (!s.absent.load(sync::relaxed)) {
    return;
  }
  s.absent.store(false, sync::relaxed);
  if (entered_as == thread_kind::worker) {
    domains_[s.domain.load(sync::relaxed)].absent.fetch_sub(1, sync::relaxed);
  }
}

void arena::uncovered_work(const arena_slot& where) noexcept {
  const work_call call{work_kind::unknown, no_isolation, where.domain.load(sync::relaxed)};
  pushers_fence();
  if (stays_) {
    new_work_that_stays(call, where);
  } else if (searchers_.load(sync::relaxed) == 0 && somebody_could_come()) {
    call_somebody(call, reach::all);
  }
}

// [S9] A heavy fence interrupts every CPU that runs a thread of this process. Where small tasks are stolen one by one,
// that would cost more than the tasks: then pushers take the duty over, until searchers stop rarely again.
void arena::see_all_pushes() noexcept {
  constexpr unsigned quick_looks_max = 8;
  const std::int64_t now = platform::monotonic_ns();
  const std::int64_t since = now - last_look_ns_.exchange(now, sync::relaxed);
  fence_duty duty = fence_duty_.load(sync::seq_cst);
  if (duty == fence_duty::pushers) {
    if (since < look_pace_.rare_ns) {
      sync::full_fence_after_exchange();  // leaving the count, before the look; partner: a pusher's full fence
      return;
    }
    // An exchange of `pushers` alone: a thread held up here must not end a change that others have begun since.
    fence_duty_.compare_exchange_strong(duty, fence_duty::searchers, sync::seq_cst, sync::relaxed);
  } else if (since >= look_pace_.soon_ns) {
    quick_looks_.store(0, sync::relaxed);
  } else if (quick_looks_.fetch_add(1, sync::relaxed) >= quick_looks_max && duty == fence_duty::searchers &&
             fence_duty_.compare_exchange_strong(duty, fence_duty::changing, sync::seq_cst, sync::relaxed)) {
    quick_looks_.store(0, sync::relaxed);
    sync::heavy_fence();  // whoever pushed before it saw the change is seen now; all others pass full fences
    fence_duty_.store(fence_duty::pushers, sync::seq_cst);
    return;
  }
  sync::heavy_fence();
}

void arena::worker_found_no_slot(thread_state& t) noexcept {
  domains_[t.domain].searchers.fetch_sub(1, sync::relaxed);
  searchers_.fetch_sub(1, sync::seq_cst);
  // Application threads fill the arena; one of them may be asleep in a wait.
  static_cast<void>(wake_sleeper({.home = t.domain}, reach::all));
}

bool arena::stand_down() noexcept {
  if (has_work(no_isolation, anybody)) {
    return false;
  }
  // [A3] Not busy, unless work shows after the fence; partner: a push, then the look at busy_.
  const bool was_mandatory = mandatory_.exchange(false, sync::seq_cst);
  busy_.store(false, sync::seq_cst);
  sync::heavy_fence();
  if (!has_work(no_isolation, anybody)) {
    return true;
  }
  if (was_mandatory) {
    mandatory_.store(true, sync::seq_cst);
  }
  busy_.store(true, sync::seq_cst);
  manager_.announce(*this);
  return false;
}

void arena::worker_leaves(unsigned domain) noexcept {
  domains_[domain].active.fetch_sub(1, sync::relaxed);
  if (workers_.fetch_sub(1, sync::seq_cst) != 1) {
    return;
  }
  // [A14] Its share stays its own until somebody else asks, so that its next work need not ask again.
  if (!stand_down() || manager_.unmet()) {
    manager_.demand_changed();
  }
}

int arena::workers_wanted() const noexcept {
  return static_cast<int>(max_workers_ == 0 && mandatory_.load(sync::relaxed) ? 1U : max_workers_);
}

bool arena::somebody_could_come() const noexcept {
  return !busy_.load(sync::relaxed) || sleepers_.load(sync::relaxed) != 0 ||
         ((manager_.available() > 0 || cut_.load(sync::relaxed) || manager_.refusal_has_ended()) &&
          workers_.load(sync::relaxed) < workers_wanted());
}

void arena::call_somebody(const work_call& call, reach who) noexcept {
  const unsigned home = call.home;
  called_for_.store(home, sync::relaxed);
  leaves_fast_once_.store(false, sync::relaxed);
  if (!busy_.load(sync::relaxed) && !busy_.exchange(true, sync::seq_cst)) {
    if (manager_.demand_rose(*this, home)) {
      return;
    }
    if (able_searchers(call.kind, domains_[home].searchers.load(sync::relaxed)) != 0) {
      return;  // the new allotment has called a worker of that domain already (A8): one is enough
    }
  } else if (workers_.load(sync::relaxed) >= allotted_.load(sync::relaxed) && sleepers_.load(sync::relaxed) == 0) {
    const bool cut = cut_.load(sync::relaxed);
    const bool idle = manager_.available() > 0;
    // Workers sleep, and this arena may not have them: another may hold an allotment that it no longer needs. Or this
    // one's share was cut for want of work, and others, never idle, have the rest. [A9]
    if ((cut && idle) || ((cut || idle) && starved_.fetch_add(1, sync::relaxed) % starved_calls_per_look == 0)) {
      manager_.demand_changed();
    }
  }
  call_allotted(call, who);
}

void arena::call_allotted(const work_call& call, reach who) noexcept {
  if (workers_.load(sync::relaxed) < allotted_.load(sync::relaxed) && worker_could_enter() &&
      manager_.send_worker(*this, call.home, who == reach::home ? 1 : domain_count_)) {
    return;
  }
  if (sleepers_.load(sync::relaxed) != 0) {
    static_cast<void>(wake_sleeper(call, who));
  }
}

void arena::call_workers_for_phase() noexcept {
  if (!busy_.load(sync::relaxed) && !busy_.exchange(true, sync::seq_cst)) {
    static_cast<void>(manager_.demand_rose(*this, 0));
  }
  while (workers_.load(sync::relaxed) < allotted_.load(sync::relaxed) && worker_could_enter() &&
         manager_.send_worker(*this, 0, domain_count_)) {
  }
}

bool arena::worker_should_leave(const thread_state& t) const noexcept {
  return workers_.load(sync::relaxed) > allotted_.load(sync::relaxed) ||
         domains_[t.domain].active.load(sync::relaxed) > domains_[t.domain].allotted.load(sync::relaxed);
}

bool arena::try_reference() noexcept {
  int now = references_.load(sync::relaxed);
  while (now != 0) {
    if (references_.compare_exchange_weak(now, now + 1, sync::relaxed, sync::relaxed)) {
      return true;
    }
  }
  return false;
}

void arena::drop_reference() noexcept {
  resource_manager& manager = manager_;
  // acq_rel: the last one sees what all others did. The arena may be gone after this, unless it was the last. [A4]
  if (references_.fetch_sub(1, sync::acq_rel) == 1) {
    manager.retire(*this);
  }
}

}  // namespace homing::scheduler
