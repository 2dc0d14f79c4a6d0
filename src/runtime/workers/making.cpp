/// How worker threads are made: several at a time, by whoever needs one.
///
/// Threads:   any. The place is reserved under the manager's lock, and the thread is made without it.
/// Protocols: docs/protocols/arena.md [A15], [A17], [A25].
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "platform/check.hpp"
#include "runtime/arena/arena.hpp"
#include "runtime/settings/control.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "sync/futex.hpp"

namespace homing::scheduler {

struct resource_manager::worker_block {
  static constexpr std::size_t count = 16;
  worker_block* next = nullptr;
  worker workers[count];
};

/// Whether a look under the lock would find nothing to make for the domain, nor to bring to it, nor to wait for.
bool resource_manager::is_complete(domain_index domain) const noexcept {
  return makings_.load(sync::relaxed) == 0 && state_of(domain).has_all();
}

/// Whether a look under the lock may find one to make for the domain, or to wait for. A hint, where makings alone fill
/// the limit.
bool resource_manager::could_be_made(domain_index domain, turned_away patience) const noexcept {
  return !stopping_.load(sync::relaxed) && !is_refused() && !state_of(domain).has_all() && !has_made_all() &&
         (patience == turned_away::waits || makings_.load(sync::relaxed) == 0);  // the domain's may be among these
}

/// One that idles in the domain, or a new one, or one that idles elsewhere if the domain has fewer than it should.
resource_manager::fetched resource_manager::fetch_worker(domain_index domain, turned_away patience) noexcept {
  for (;;) {
    if (worker* w = pop_idle(domain)) {
      return {w, true, false};
    }
    // [A25] Nobody takes the lock for that: workers hold it on their way from one arena to the next. A hint: the caller
    // looks again.
    if (is_complete(domain)) {
      return {.unlocked = true};
    }
    const std::uint32_t ended = makings_ended_.load(sync::relaxed);
    worker* reserved = nullptr;
    {
      holder hold(*this);
      if (stopping_.load(sync::relaxed)) {
        return {};
      }
      reserved = reserve_making(domain);
      if (reserved != nullptr) {
        // [A25] To serve others is to call workers for them, which may wait for the threads that are being made: this
        // one, too. They are served once it is made.
        hold.leave_wishes();
      } else if (!is_full_of_makings(domain) || patience == turned_away::gives_up) {
        const domain_state& here = state_of(domain);
        const bool lacking = here.made.load(sync::relaxed) + here.makings < here.promised.load(sync::relaxed);
        return {lacking ? bring_idle(domain) : nullptr, true, lacking};
      } else {
        makings_watched_.fetch_add(1, sync::relaxed);
      }
    }
    if (reserved == nullptr) {
      // [A25] Each of those may be refused, and its place is free again then.
      watch_makings(ended);
    } else if (make_thread(*reserved)) {
      return {reserved, false, false};
    }  // else refused: one that idles elsewhere may do
  }
}

/// A thread that sleeps until it is sent somewhere, of the first of these domains that may have one more. Null: none
/// can be made now.
worker* resource_manager::make_in_one_of(std::span<const domain_index> domains) noexcept {
  worker* reserved = nullptr;
  {
    holder hold(*this);
    if (stopping_.load(sync::relaxed)) {
      return nullptr;
    }
    for (auto d = domains.begin(); d != domains.end() && reserved == nullptr; ++d) {
      reserved = reserve_making(*d);
    }
    if (reserved == nullptr) {
      return nullptr;
    }
    hold.leave_wishes();  // [A25]
  }
  return make_thread(*reserved) ? reserved : nullptr;
}

bool resource_manager::make_worker(arena& a, domain_index home) noexcept {
  if (could_make_.load(sync::relaxed) <= 0 || idle_.load(sync::relaxed) > 0 || is_refused()) {
    return false;  // relaxed, all: hints; nobody relies on this call [S19]
  }
  for (const domain_index d : machine_.nearest_first(home)) {
    if (!reserve(a, d)) {
      continue;
    }
    if (worker* const w = make_in_one_of({&d, 1})) {
      send(*w, a, d, false);
      return true;
    }
    unreserve(a, d);
    // [S7] Whoever found the place taken by us may have called nobody; partner: an announcement, or a limit, then the
    // look at the places. So may a stand-in that looked meanwhile [A26], where nobody idles: this call looks for one,
    // too. Whether there is work is not asked: who pushed has passed a light fence only.
    sync::full_fence();
    if (available() > 0) {
      ask_if_trimmed(a);
      return send_worker(a, home, domain_count_, turned_away::gives_up);
    }
  }
  return false;
}

/// Under the lock. Null if all have been made that may be, or are being made, or none can be made now.
worker* resource_manager::reserve_making(domain_index domain) noexcept {
  domain_state& here = state_of(domain);
  if (is_refused() || here.made.load(sync::relaxed) + here.makings >= here.due() || has_made_all()) {
    return nullptr;
  }
  worker* const w = take_spare();
  if (w == nullptr) {
    note_refusal(ENOMEM);
    return nullptr;
  }
  w->domain = domain;
  try {
    w->starts_on = here.usable.binding;
  } catch (const std::bad_alloc&) {
    w->starts_on = {};
  }
  ++here.makings;
  makings_.fetch_add(1, sync::relaxed);
  will_make_others_.fetch_add(1, sync::relaxed);
  note_first_making();
  return w;
}

/// Under the lock. Null if memory lacks.
worker* resource_manager::take_spare() noexcept {
  if (spare_workers_ == nullptr) {
    auto* const block = new (std::nothrow) worker_block;
    if (block == nullptr) {
      return nullptr;
    }
    block->next = std::exchange(worker_blocks_, block);
    for (worker& w : block->workers) {
      w.next_made = std::exchange(spare_workers_, &w);
    }
  }
  return std::exchange(spare_workers_, spare_workers_->next_made);
}

/// Under the lock, when no thread is there or is being made.
void resource_manager::free_workers() noexcept {
  platform::require(first_worker_ == nullptr && makings_.load(sync::relaxed) == 0,
                    "A25: workers are freed when there are none");
  spare_workers_ = nullptr;
  while (worker_blocks_ != nullptr) {
    delete std::exchange(worker_blocks_, worker_blocks_->next);
  }
}

/// Under the lock. relaxed: who enqueues and reads too old a value has come before the place was reserved, or after a
/// refusal that it sees as late as this.
void resource_manager::note_first_making() noexcept {
  makes_first_.store(makings_.load(sync::relaxed) != 0 && made_.load(sync::relaxed) == 0, sync::relaxed);
}

bool resource_manager::has_made_all() const noexcept {
  const unsigned limit = std::max(1U, allowed_workers_.load(sync::relaxed));
  return made_.load(sync::relaxed) + makings_.load(sync::relaxed) >= limit;
}

/// [A25] Under the lock: whether a place is taken by a thread that is being made, and may not come to be.
bool resource_manager::is_full_of_makings(domain_index domain) const noexcept {
  return !is_refused() && (state_of(domain).makings != 0 || (makings_.load(sync::relaxed) != 0 && has_made_all()));
}

namespace {

/// The CPUs that a worker of a domain is made on; empty: any of its maker's, as any thread. A maker that is bound to
/// one CPU keeps that busy, and the new thread would wait there before it could bind itself. So it begins on another
/// one of its domain, if there is one.
platform::cpu_set starts_on(const platform::cpu_set& domain) noexcept {
  try {
    const platform::cpu_set makers = platform::get_affinity().mask;
    const platform::cpu_set others = domain - makers;
    return makers.count() == 1 ? others : platform::cpu_set{};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace

/// On those CPUs; empty: its maker's. The error number.
int resource_manager::create_thread(worker& w, const platform::cpu_set& cpus) noexcept {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, w.stack_bytes);
  if (!cpus.empty()) {
    const auto words = cpus.words();
    // Without memory for that it starts on its maker's.
    pthread_attr_setaffinity_np(&attributes, words.size_bytes(), reinterpret_cast<const cpu_set_t*>(words.data()));
  }
  const int error = pthread_create(&w.thread, &attributes, &worker_entry, &w);
  pthread_attr_destroy(&attributes);
  return error;
}

/// A thread that sleeps until it is sent somewhere. Its place is reserved; false: it could not be made, and the place
/// is free again.
bool resource_manager::make_thread(worker& w) noexcept {
  w.index = names_given_.fetch_add(1, sync::relaxed);
  w.manager = this;
  w.stack_bytes = thread_stack_size();
  const platform::cpu_set cpus = starts_on(std::exchange(w.starts_on, {}));
  int error = cpus.empty() ? EINVAL : create_thread(w, cpus);
  if (error != 0) {
    error = create_thread(w, {});  // a binding may be refused; the worker will ask for it again, and say so
  }
  {
    holder hold(*this);
    --state_of(w.domain).makings;
    makings_.fetch_sub(1, sync::relaxed);
    if (error == 0) {
      refusals_.store(0, sync::relaxed);
      w.next_made = std::exchange(first_worker_, &w);
      state_of(w.domain).made.fetch_add(1, sync::relaxed);
      made_.fetch_add(1, sync::relaxed);
      count_makeable();
    } else {
      w.next_made = std::exchange(spare_workers_, &w);
      will_make_others_.fetch_sub(1, sync::relaxed);
      note_refusal(error);
    }
    note_first_making();
    makings_ended_.fetch_add(1, sync::relaxed);
    const bool watched = makings_watched_.load(sync::relaxed) != 0;
    hold.unlock();
    if (watched) {
      sync::futex_wake(makings_ended_, ~0U >> 1U);
    }
  }
  return error == 0;
}

/// [A25] For who stops them, when nobody reserves a place any more; and for an enqueue while there is no worker yet.
void resource_manager::wait_for_makings() noexcept {
  for (;;) {
    const std::uint32_t ended = makings_ended_.load(sync::relaxed);
    {
      const holder hold(*this);
      if (makings_.load(sync::relaxed) == 0) {
        return;
      }
      makings_watched_.fetch_add(1, sync::relaxed);
    }
    watch_makings(ended);
  }
}

/// Until one more has ended than `ended`, which the caller read before it took the lock and looked. It has counted
/// itself under that. relaxed, all of it: both counts change under the lock. What ended after that look was not read.
void resource_manager::watch_makings(std::uint32_t ended) noexcept {
  sync::futex_wait(makings_ended_, ended);
  makings_watched_.fetch_sub(1, sync::relaxed);
}

// [A17] Where all have been made that may be, one that idles in another domain moves: from one that has more than it
// should, if such a worker idles; the nearest one of these. Under the lock.
worker* resource_manager::bring_idle(domain_index to) noexcept {
  for (const bool surplus_only : {true, false}) {
    for (const domain_index from : machine_.nearest_first(to).subspan(1)) {
      domain_state& there = state_of(from);
      if (surplus_only && there.made.load(sync::relaxed) <= there.promised.load(sync::relaxed)) {
        continue;
      }
      if (worker* w = pop_idle(from)) {
        platform::require(there.made.load(sync::relaxed) > 0 && w->assigned == nullptr && w->domain == from,
                          "A17: a worker that is moved idles in the domain that it is counted in");
        there.made.fetch_sub(1, sync::relaxed);
        state_of(to).made.fetch_add(1, sync::relaxed);
        w->domain = to;  // it sleeps until unpark(), and binds itself then
        return w;
      }
    }
  }
  return nullptr;
}

}  // namespace homing::scheduler
