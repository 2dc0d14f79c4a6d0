/// How worker threads are made: several at a time, by whoever needs one.
///
/// Threads:   any. The place is reserved under the manager's lock, and the thread is made without it.
/// Protocols: docs/protocols/arena.md [A15], [A17], [A25].
#include <pthread.h>

#include <algorithm>
#include <new>

#include "platform/check.hpp"
#include "runtime/arena/arena.hpp"
#include "runtime/settings/control.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "sync/futex.hpp"

namespace homing::scheduler {
namespace {

constexpr std::size_t stack_bytes_min = 64 * 1024;

}  // namespace

/// One that idles in the domain, or a new one, or one that idles elsewhere if the domain has fewer than it should.
resource_manager::fetched resource_manager::fetch_worker(domain_index domain, turned_away patience) noexcept {
  for (;;) {
    if (worker* w = pop_idle(domain)) {
      return {w, true, false};
    }
    const std::uint32_t ended = makings_ended_.load(sync::acquire);
    bool reserved = false;
    {
      const holder hold(*this);
      if (stopping_.load(sync::relaxed)) {
        return {};
      }
      reserved = !is_refused() && reserve_making(domain);
      if (!reserved && (!is_full_of_makings(domain) || patience == turned_away::gives_up)) {
        const domain_state& here = state_of(domain);
        const bool lacking = here.made + here.makings < here.promised;
        return {lacking ? bring_idle(domain) : nullptr, true, lacking};
      }
    }
    if (reserved) {
      if (worker* w = make_worker(domain)) {
        return {w, false, false};
      }
      continue;  // refused: one that idles elsewhere may do
    }
    // [A25] Each of those may be refused, and its place is free again then.
    sync::futex_wait(makings_ended_, ended);
  }
}

/// Under the lock. False if all have been made that may be, or are being made.
bool resource_manager::reserve_making(domain_index domain) noexcept {
  domain_state& here = state_of(domain);
  if (here.made + here.makings >= std::max(here.planned, here.promised) || has_made_all()) {
    return false;
  }
  ++here.makings;
  ++makings_;
  note_first_making();
  return true;
}

/// Under the lock. relaxed: who enqueues and reads too old a value has come before the place was reserved, or after a
/// refusal that it sees as late as this.
void resource_manager::note_first_making() noexcept {
  makes_first_.store(makings_ != 0 && made_.load(sync::relaxed) == 0, sync::relaxed);
}

bool resource_manager::has_made_all() const noexcept {
  const unsigned limit = std::max(1U, allowed_workers_.load(sync::relaxed));
  return made_.load(sync::relaxed) + makings_ >= limit;
}

/// [A25] Under the lock: whether a place is taken by a thread that is being made, and may not come to be.
bool resource_manager::is_full_of_makings(domain_index domain) const noexcept {
  return !is_refused() && (state_of(domain).makings != 0 || (makings_ != 0 && has_made_all()));
}

/// A thread that sleeps until it is sent somewhere; null if there can't be one now. Its place is reserved.
worker* resource_manager::make_worker(domain_index domain) noexcept {
  auto* w = new (std::nothrow) worker;
  int error = ENOMEM;
  if (w != nullptr) {
    w->index = names_given_.fetch_add(1, sync::relaxed);
    w->domain = domain;
    w->manager = this;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::max(thread_stack_size(), stack_bytes_min));
    error = pthread_create(&w->thread, &attributes, &worker_entry, w);
    pthread_attr_destroy(&attributes);
  }
  {
    const holder hold(*this);
    --state_of(domain).makings;
    --makings_;
    if (error == 0) {
      refusals_.store(0, sync::relaxed);
      w->next_made = first_worker_;
      first_worker_ = w;
      ++state_of(domain).made;
      made_.fetch_add(1, sync::relaxed);
      count_makeable();
    } else {
      note_refusal(error);
    }
    note_first_making();
    makings_ended_.fetch_add(1, sync::release);
  }
  sync::futex_wake(makings_ended_, ~0U >> 1U);
  if (error != 0) {
    delete w;
    return nullptr;
  }
  return w;
}

/// [A25] For who stops them, when nobody reserves a place any more; and for an enqueue while there is no worker yet.
void resource_manager::wait_for_makings() noexcept {
  for (;;) {
    const std::uint32_t ended = makings_ended_.load(sync::acquire);
    {
      const holder hold(*this);
      if (makings_ == 0) {
        return;
      }
    }
    sync::futex_wait(makings_ended_, ended);
  }
}

// [A17] Where all have been made that may be, one that idles in another domain moves: from one that has more than it
// should, if such a worker idles; the nearest one of these. Under the lock.
worker* resource_manager::bring_idle(domain_index to) noexcept {
  for (const bool surplus_only : {true, false}) {
    for (const domain_index from : machine_.nearest_first(to).subspan(1)) {
      if (surplus_only && state_of(from).made <= state_of(from).promised) {
        continue;
      }
      if (worker* w = pop_idle(from)) {
        platform::require(state_of(from).made > 0 && w->assigned == nullptr && w->domain == from,
                          "A17: a worker that is moved idles in the domain that it is counted in");
        --state_of(from).made;
        ++state_of(to).made;
        w->domain = to;  // it sleeps until unpark(), and binds itself then
        return w;
      }
    }
  }
  return nullptr;
}

}  // namespace homing::scheduler
