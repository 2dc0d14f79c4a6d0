#include "runtime/workers/resource_manager.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "platform/check.hpp"
#include "platform/clock.hpp"
#include "runtime/arena/arena.hpp"
#include "runtime/dispatch/dispatch.hpp"
#include "runtime/settings/control.hpp"
#include "runtime/stack/stay.hpp"
#include "runtime/thread/thread_domain.hpp"
#include "sync/futex.hpp"

namespace homing::scheduler {
namespace {

sync::atomic<resource_manager*> process_manager{nullptr};
std::mutex creation;

/// Without making a set of what they share: nothing here may need memory.
bool share_a_cpu(const platform::cpu_set& a, const platform::cpu_set& b) noexcept {
  const auto one = a.words();
  const auto other = b.words();
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    if ((one[i] & other[i]) != 0) return true;
  }
  return false;
}

}  // namespace

resource_manager& resource_manager::current() {
  resource_manager* m = process_manager.load(sync::acquire);
  if (m == nullptr) {
    const std::lock_guard hold(creation);
    m = process_manager.load(sync::relaxed);
    if (m == nullptr) {
      sync::prepare_asymmetric_fences();
      m = new resource_manager;
      process_manager.store(m, sync::release);  // all of it, to the acquire above
    }
  }
  return *m;
}

void resource_manager::lock_creation_for_fork() noexcept { creation.lock(); }
void resource_manager::unlock_creation_after_fork() noexcept { creation.unlock(); }

resource_manager* resource_manager::current_or_null() noexcept { return process_manager.load(sync::acquire); }

void resource_manager::replace_after_fork() {
  if (process_manager.load(sync::relaxed) != nullptr) {
    sync::prepare_asymmetric_fences(sync::company::none);
    resource_manager* fresh = nullptr;
    set_default_parallelism(0);
    try {
      fresh = new resource_manager;
    } catch (const std::bad_alloc&) {
      // Nobody can be told here: the child's first use makes one, and throws if there is still no memory.
    }
    process_manager.store(fresh, sync::relaxed);  // there is one thread
  }
}

resource_manager::resource_manager()
    : machine_(settings_.machine),
      domain_count_(settings_.domain_count),
      domains_(std::make_unique<domain_state[]>(domain_count_)),
      leases_(domain_count_),
      allotment_(domain_count_),
      supplies_(domain_count_) {
  for (const domain_index d : all_domains()) {
    const topology::domain& described = machine_.at(d);
    state_of(d).usable = {static_cast<unsigned>(described.cpus.size()), described.binding};
    usable_ |= described.binding;
  }
  first_thread_ = usable_;
  looked_ns_.store(platform::monotonic_ns(), sync::relaxed);
  first_domain_ = present_domain(settings_);
  set_default_parallelism(default_concurrency());
  obey_limit(machine_is::another);
}

domain_index resource_manager::take_in_external_thread(const platform::cpu_set& mask) noexcept {
  const domain_index present = domain_of_this_thread(settings_);
  const holder hold(*this);
  std::optional<domain_index> best;
  for (unsigned i = 0; i < domain_count_; ++i) {
    const domain_index d{(to_index(present) + i) % domain_count_};  // among equals, where it is
    const topology::domain& domain = machine_.at(d);
    if ((!share_a_cpu(mask, domain.binding) && !mask.empty()) || state_of(d).usable.cpus == 0) {
      continue;  // its user has bound it elsewhere; or the domain has gone [A19]
    }
    if (best) {
      const std::uint64_t mine = std::uint64_t{state_of(d).external_threads + 1} * machine_.at(*best).cpus.size();
      const std::uint64_t its = std::uint64_t{state_of(*best).external_threads + 1} * domain.cpus.size();
      if (mine >= its) {
        continue;
      }
    }
    best = d;
  }
  const domain_index chosen = best.value_or(present);
  ++state_of(chosen).external_threads;
  return chosen;
}

void resource_manager::let_external_thread_go(domain_index domain) noexcept {
  const holder hold(*this);
  platform::require(state_of(domain).external_threads > 0, "a pinned thread is counted in its domain");
  --state_of(domain).external_threads;
}

void resource_manager::deal() noexcept {
  for (const domain_index d : all_domains()) {
    supplies_[to_index(d)] = {.cpus = state_of(d).usable.cpus, .has_caller = d == first_domain_};
  }
  deal_workers(std::max(allowed_workers_.load(sync::relaxed), 1U), supplies_);  // one more than none: a mandatory one
  for (const domain_index d : all_domains()) {
    state_of(d).planned.store(supplies_[to_index(d)].planned, sync::relaxed);  // at once: others read it meanwhile
  }
}

/// Under the lock. Until a worker is made or leased, the application's thread counts where it is when it asks for some:
/// its program may have bound it since the manager was made. A pinned section's domain is not its own.
void resource_manager::find_first_thread() noexcept {
  const thread_state* const t = this_thread_or_null;
  if (t == nullptr || made_.load(sync::relaxed) != 0 || makings_.load(sync::relaxed) != 0 ||
      leases_.leased_total() != 0 || (t->in != nullptr && t->in->is_of_one_domain())) {
    return;
  }
  if (const domain_index here = present_domain(settings_); here != first_domain_) {
    first_domain_ = here;
    deal();
  }
}

void resource_manager::obey_limit(machine_is machine) noexcept {
  arena_list waiting;
  {
    const holder hold(*this);
    // Read under the lock: of several that change the limit at once, whoever comes last reads the last one. [A12]
    const std::size_t threads = std::clamp<std::size_t>(max_allowed_parallelism(), 1, worker_count_max);
    const auto allowed = static_cast<unsigned>(threads - 1);
    if (machine == machine_is::the_same && allowed == allowed_workers_.load(sync::relaxed)) {
      return;  // a control within another's limit
    }
    allowed_workers_.store(allowed, sync::relaxed);
    deal();
    // Now: what the caller spawns next finds the new limit in force. But some programs change the limit around every
    // loop, and between two of these nothing need be allotted.
    const bool all_can_wait = machine == machine_is::the_same && leave_shares();
    count_makeable();
    publish_limit();
    if (!all_can_wait || newcomers_.load(sync::relaxed) != nullptr ||
        any_wants([](arena& a) { return a.has_work(no_isolation, arena::anybody); })) {
      waiting = allot_and_take_to_call();
    }
  }
  call_for(waiting);
}

void resource_manager::publish_limit() noexcept {
  const unsigned allowed = allowed_workers_.load(sync::relaxed);
  allottable_workers_.store(allowed - std::min(allowed, leases_.leased_total()), sync::relaxed);
  see_all_pushes();  // [A12] the limit is out before the look at the work; partner: a push, then the look at the limit
}

void resource_manager::allot_to_all() noexcept {
  publish_limit();
  allot();
}

template <typename Predicate>
bool resource_manager::any_wants(Predicate&& is_so) const noexcept {
  return std::any_of(std::begin(wanting_), std::end(wanting_), [&](const arena_list& level) {
    for (const arena_place* place = level.first(); place != nullptr; place = place->next) {
      if (is_so(place->whose)) {
        return true;
      }
    }
    return false;
  });
}

/// Under the lock, when the limit is another, before it is published. Whether each arena that wants workers has a share
/// that the limit lets it keep. Then it asks for more once it has work, as one whose share was trimmed does. [A12]
bool resource_manager::leave_shares() noexcept {
  int left = static_cast<int>(allowed_workers_.load(sync::relaxed)) - static_cast<int>(leases_.leased_total());
  for (const domain_index d : all_domains()) {
    const int promised = state_of(d).promised.load(sync::relaxed);
    const int leased = static_cast<int>(leases_.leased()[to_index(d)]);
    left -= promised;
    if (promised + leased > state_of(d).planned.load(sync::relaxed)) {
      return false;
    }
  }
  if (left < 0) {
    return false;
  }
  const auto needs_more = [this](const arena& a) {
    const worker_account& account = a.account();
    return account.served_in != allotment_number_ || account.mandatory_share.load(sync::relaxed) ||
           account.mandatory.load(sync::relaxed) || a.in_phase();
  };
  if (any_wants(needs_more)) {
    return false;
  }
  // Before the fence of publish_limit(), and the look at its work; partner: a push, then the look at the share.
  for (arena* a : served_) {
    if (!a->account().trimmed.load(sync::relaxed)) {  // workers read that line between tasks
      a->account().trimmed.store(true, sync::relaxed);
    }
    a->ask_for_forks();
  }
  crowded_level_.store(level_count, sync::relaxed);
  return true;
}

// Some programs change the limit around every loop. A heavy fence takes longer than such a loop where it interrupts a
// CPU of a virtual machine.
void resource_manager::see_all_pushes() noexcept {
  sync::full_fence();
  if (may_have_pushers()) {
    sync::heavy_fence();
  }
}

/// [A23] The calling thread's slot there: its own pushes are before its look.
slot_id resource_manager::slot_of_this_thread(const arena& a) noexcept {
  const thread_state* const me = this_thread_or_null;
  return me != nullptr ? slot_held_in(*me, a) : no_slot;
}

bool resource_manager::may_have_pusher(const arena& a) noexcept { return a.may_have_pusher(slot_of_this_thread(a)); }

/// Under the lock. [A23] Whether some thread but this one may push behind a light fence.
bool resource_manager::may_have_pushers() const noexcept {
  constexpr std::size_t slots_looked_at_max = 1024;  // with more, the heavy fence costs less
  std::size_t slots = 0;
  for (const worker_account* a = arenas_.first(); a != nullptr; a = a->next) {
    slots += a->owner.slot_count();
    if (slots > slots_looked_at_max || may_have_pusher(a->owner)) {
      return true;
    }
  }
  return false;
}

void resource_manager::count_makeable() noexcept {
  const int made = static_cast<int>(made_.load(sync::relaxed));
  const int could = std::max(1, static_cast<int>(allowed_workers_.load(sync::relaxed)));
  could_make_.store(std::max(0, could - made), sync::relaxed);
}

void resource_manager::serve_who_asked() noexcept {
  // [A6] seq_cst: after the unlock; partner: dirty_, then the try, in demand_changed().
  if (dirty_.load(sync::seq_cst)) {
    demand_changed();
  }
}

void resource_manager::link(arena& a) {
  const holder hold(*this);
  // [A16] Room for one arena more wherever an allotment puts arenas, before it can be part of one.
  const auto make_room = [&](auto& in) {
    if (in.capacity() <= arena_count_) {
      in.reserve(2 * arena_count_ + 8);
    }
  };
  make_room(served_);
  make_room(served_before_);
  make_room(newly_trimmed_);
  if (room_for_arenas_ <= arena_count_) {
    allotment_.reserve(2 * arena_count_ + 8);
    room_for_arenas_ = 2 * arena_count_ + 8;
  }
  ++arena_count_;
  arenas_.push_front(a.account());
}

void resource_manager::forget(arena& a) noexcept {
  if (newcomers_.load(sync::relaxed) != nullptr) {
    take_newcomers();                   // it may be one of them
    dirty_.store(true, sync::relaxed);  // [A9] no worker finds the others there any more: they are served at our unlock
  }
  a.account().busy.store(false, sync::relaxed);
  a.account().mandatory.store(false, sync::relaxed);
  unlist(a);
  std::erase(served_, &a);
  platform::require(arena_count_ > 0, "A16: each linked arena is counted");
  --arena_count_;
  arenas_.remove(a.account());
  tell_finalizers();
}

// A call of the kernel's only if somebody may sleep: an arena that lives for one loop would pay for it.
void resource_manager::tell_finalizers() noexcept {
  arenas_gone_.fetch_add(1, sync::relaxed);  // under the lock, as the look that a sleeper takes before it sleeps
  if (finalizers_ > 0) {
    sync::futex_wake(arenas_gone_, ~0U >> 1U);
  }
}

bool resource_manager::is_idle() noexcept {
  const holder hold(*this);
  return arenas_.empty() && first_worker_ == nullptr && !ends_some_ && !stopping_.load(sync::relaxed);
}

bool resource_manager::wait_until_unused() noexcept {
  add_finalizers(+1);
  const bool unused = see_arenas_go();
  add_finalizers(-1);
  return unused;
}

void resource_manager::add_finalizers(int more) noexcept {
  const holder hold(*this);
  finalizers_ += more;
}

/// Under the lock, of an arena without users. [A5]
bool resource_manager::nobody_comes_to(const arena& a) const noexcept {
  return is_refused() || a.slot_count() == a.reserved_slots();
}

bool resource_manager::see_arenas_go() noexcept {
  for (;;) {
    const std::uint32_t gone = arenas_gone_.load(sync::relaxed);  // before the look under the lock
    arena* alone = nullptr;
    {
      const holder hold(*this);
      for (worker_account* a = arenas_.first(); a != nullptr; a = a->next) {
        if (a->users.load(sync::relaxed) > 0) {
          return false;
        }
        if (alone == nullptr && nobody_comes_to(a->owner) && a->workers.load(sync::relaxed) == 0 &&
            a->try_reference()) {
          alone = &a->owner;
        }
      }
      if (arenas_.empty()) {
        return true;
      }
    }
    if (alone == nullptr) {
      sync::futex_wait(arenas_gone_, gone);
    } else if (!do_work_left_in(*alone)) {
      return false;
    }
  }
}

// [A5] Where no worker can come, whoever waits for the end does what was left behind. False if memory lacks.
bool resource_manager::do_work_left_in(arena& a) noexcept {
  bool done = true;
  try {
    work_until_empty(this_thread(), a);
    a.drop_kept_reference();
  } catch (const std::bad_alloc&) {
    done = false;
  }
  a.drop_reference();
  return done;
}

void resource_manager::retire(arena& a) {
  // An arena of one thread, which has gone: who waits for the tasks may be elsewhere. Where no slot is for a worker,
  // none is sent.
  const bool needs_lent_worker = a.max_workers() == 0 && a.slot_count() > a.reserved_slots();
  bool work_left = false;
  {
    const holder hold(*this);
    // [A5] Nobody refers to the arena and nobody but the manager can find it; reserve() and try_reference() refuse.
    work_left = a.has_work(no_isolation, arena::anybody);
    if (work_left) {
      platform::require(a.account().references.load(sync::relaxed) == 0 && !a.account().kept.load(sync::relaxed),
                        "A5: an arena is retired when nobody refers to it, and keeps nothing then");
      if (needs_lent_worker) {
        // relaxed, both: nobody is inside; allotments read them under the lock, and a worker comes by a later one.
        a.account().mandatory.store(true, sync::relaxed);
        a.account().busy.store(true, sync::relaxed);
      }
      a.account().references.store(2, sync::relaxed);  // ours until we have called, and one until a worker has come
      a.account().kept.store(true, sync::relaxed);     // whoever comes gets its reference under the lock, or from us
      tell_finalizers();                               // where nobody comes, they do it
    } else {
      forget(a);
    }
  }
  if (!work_left) {
    const bool was_served = a.account().allotted.load(sync::relaxed) != 0;
    a.end();
    if (was_served) {
      demand_changed();
    }
    return;
  }
  if (needs_lent_worker) {
    static_cast<void>(demand_rose(a, domain_index{0}));  // it is on no list if nothing was enqueued there
  } else if (a.account().busy.load(sync::relaxed) && a.account().allotted.load(sync::relaxed) == 0) {
    demand_changed();
  }
  a.call_for_work_left(domain_index{0});
  a.drop_reference();
}

// [A14] relaxed, both: who reads too old a flag is as early as the allotment that changes it, which then calls.
bool resource_manager::is_share_void(const arena& a) noexcept {
  return a.account().mandatory_share.load(sync::relaxed) && !a.account().mandatory.load(sync::relaxed);
}

bool resource_manager::reserve(arena& a, domain_index d) noexcept {
  if (is_share_void(a)) {
    return false;
  }
  const auto raise = [](sync::atomic<int>& count, const sync::atomic<int>& limit) {
    int now = count.load(sync::relaxed);
    while (now < limit.load(sync::relaxed)) {
      if (count.compare_exchange_weak(now, now + 1, sync::relaxed, sync::relaxed)) {
        return true;
      }
    }
    return false;
  };
  for (;;) {
    if (!raise(a.domain(d).active, a.domain(d).allotted)) {
      return false;
    }
    if (raise(a.account().workers, a.account().allotted)) {
      break;
    }
    // [S7] Who called meanwhile may have found the domain's place taken by us: it is given back before a second look at
    // the share; partner: a share that has grown, or a worker that has left, then the look at the places.
    a.domain(d).active.fetch_sub(1, sync::relaxed);
    sync::full_fence();
    if (!a.has_unfilled_share()) {
      return false;
    }
  }
  if (!a.account().try_reference()) {
    a.domain(d).active.fetch_sub(1, sync::relaxed);
    a.account().workers.fetch_sub(1, sync::relaxed);
    return false;
  }
  return true;
}

void resource_manager::unreserve(arena& a, domain_index d) noexcept {
  a.domain(d).active.fetch_sub(1, sync::relaxed);
  a.account().workers.fetch_sub(1, sync::relaxed);
  a.drop_reference();
  if (__builtin_expect(is_refused(), false)) {
    const holder hold(*this);
    tell_finalizers();  // a worker seemed to be on its way
  }
}

}  // namespace homing::scheduler
