/// The manager's threads: how one is made, woken, sent to an arena, and put to sleep.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "platform/cpu_set.hpp"
#include "platform/env.hpp"
#include "runtime/arena.hpp"
#include "runtime/control.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/resource_manager.hpp"

namespace homing::scheduler {

worker* resource_manager::pop_idle(unsigned domain) noexcept {
  domain_state& d = domains_[domain];
  if (d.idle.load(sync::relaxed) == 0) {
    return nullptr;
  }
  const sync::scoped_spin_lock hold(d.lock);
  worker* w = d.first_idle;
  if (w != nullptr) {
    d.first_idle = w->next_idle;
    w->idle = false;
    d.idle.fetch_sub(1, sync::relaxed);
    idle_.fetch_sub(1, sync::relaxed);
  }
  return w;
}

bool resource_manager::send_worker(arena& a, unsigned home, unsigned domains) noexcept {
  for (unsigned i = 0; i != domains; ++i) {
    const unsigned d = (home + i) % domain_count_;
    if (!reserve(a, d)) {
      continue;
    }
    if (worker* w = pop_idle(d)) {
      // [S4] It counts as searching from here on, so that the next push does not wake a second one.
      a.searchers_.fetch_add(1, sync::relaxed);
      a.domains_[d].searchers.fetch_add(1, sync::relaxed);
      w->assigned = &a;
      w->parker.unpark();
      if (this_thread_or_null != nullptr) {
        this_thread_or_null->counters.add(observe::event::wakeup);
      }
      return true;
    }
    if (make_worker(d, a)) {
      return true;
    }
    unreserve(a, d);
    // [S7] A worker that announced itself meanwhile saw our reservation and not the work: the reservation is given back
    // before this look at the idle; partner: its announcement, then its look at the counts.
    sync::full_fence();
    if (domains_[d].idle.load(sync::seq_cst) != 0) {
      --i;
    }
  }
  return false;
}

bool resource_manager::make_worker(unsigned domain, arena& a) noexcept {
  const holder hold(*this);
  if (stopping_.load(sync::relaxed)) {
    return false;
  }
  auto& waiting = domains_[domain].not_made;
  const unsigned limit = std::max(1U, allowed_workers_.load(sync::relaxed));
  if (waiting.empty() || waiting.front() >= limit) {
    return false;
  }
  auto* w = new (std::nothrow) worker;
  if (w == nullptr) {
    return false;
  }
  w->index = waiting.front();
  w->domain = static_cast<std::uint16_t>(domain);
  w->manager = this;
  w->assigned = &a;
  a.searchers_.fetch_add(1, sync::relaxed);
  a.domains_[domain].searchers.fetch_add(1, sync::relaxed);

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::max<std::size_t>(thread_stack_size(), std::size_t{64} * 1024));
  const int error = pthread_create(&w->thread, &attributes, &worker_entry, w);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    platform::warn("cannot make worker thread %u: %s; going on with %u", w->index, std::strerror(error),
                   made_.load(sync::relaxed));
    a.searchers_.fetch_sub(1, sync::relaxed);
    a.domains_[domain].searchers.fetch_sub(1, sync::relaxed);
    waiting.clear();  // the limit that was hit will be hit again
    delete w;
    return false;
  }
  waiting.erase(waiting.begin());
  workers_.push_back(w);
  made_.fetch_add(1, sync::relaxed);
  count_makeable();
  return true;
}

void* resource_manager::worker_entry(void* argument) {
  auto& w = *static_cast<worker*>(argument);
  w.manager->worker_main(w);
  return nullptr;
}

namespace {

void bind_worker(const topology::domain& home) {
  static sync::atomic<bool> said{false};
  const int refused = platform::restrict_to(0, home.binding);
  if (refused != 0 && !said.exchange(true, sync::relaxed)) {
    platform::warn("cannot bind workers to their domains: %s; they run where the kernel puts them",
                   std::strerror(refused));
  }
}

}  // namespace

void resource_manager::worker_main(worker& w) {
  char name[16];
  std::snprintf(name, sizeof name, "homing-%u", w.index);
  pthread_setname_np(pthread_self(), name);
  bind_worker(machine_.domains()[w.domain]);
  thread_state& t = make_this_thread(thread_kind::worker, w.domain);
  t.manager = this;
  while (arena* a = next_assignment(w)) {
    work_in_arena(t, *a);
  }
  leave_this_thread();
}

arena* resource_manager::find_work(worker& w) noexcept {
  arena* found = nullptr;
  std::vector<arena*> grown;
  {
    const holder hold(*this);
    if (is_out_of_date()) {
      allot();
      grown = std::exchange(grown_, {});
    }
    // By priority, as the allotment went through them. One that refuses, since another worker has just taken its last
    // place or its share is void [A14], must not hide the next one: this may be the look that S1's pusher relies on.
    for (arena* a : served_) {
      if (a->workers_.load(sync::relaxed) >= a->allotted_.load(sync::relaxed)) {
        continue;
      }
      const arena_domain& here = a->domains_[w.domain];
      if (here.active.load(sync::relaxed) >= here.allotted.load(sync::relaxed)) {
        if (available() > 0 && a->has_work(no_isolation, arena::anybody) && a->worker_could_enter() &&
            a->try_reference()) {
          grown.push_back(a);  // [A10] it waits for a worker of another domain
        }
      } else if (found == nullptr && a->has_work(no_isolation, w.domain) && a->worker_could_enter() &&
                 reserve(*a, w.domain)) {
        a->searchers_.fetch_add(1, sync::relaxed);
        a->domains_[w.domain].searchers.fetch_add(1, sync::relaxed);
        found = a;
      }
    }
  }
  call_for(grown);
  return found;
}

arena* resource_manager::next_assignment(worker& w) {
  domain_state& d = domains_[w.domain];
  for (;;) {
    if (w.assigned != nullptr) {
      return std::exchange(w.assigned, nullptr);
    }
    if (arena* a = find_work(w)) {
      return a;
    }
    {
      const sync::scoped_spin_lock hold(d.lock);
      w.idle = true;
      w.next_idle = d.first_idle;
      d.first_idle = &w;
      // [S1] Announced before the last look; partner S2 (a push, then the look at these counts).
      d.idle.fetch_add(1, sync::relaxed);
      idle_.fetch_add(1, sync::relaxed);
    }
    sync::heavy_fence();
    arena* found = stopping_.load(sync::seq_cst) ? nullptr : find_work(w);
    if (found != nullptr || stopping_.load(sync::seq_cst)) {
      bool popped = true;
      {
        const sync::scoped_spin_lock hold(d.lock);
        if (w.idle) {
          popped = false;
          w.idle = false;
          worker** link = &d.first_idle;
          while (*link != &w) {
            link = &(*link)->next_idle;
          }
          *link = w.next_idle;
          d.idle.fetch_sub(1, sync::relaxed);
          idle_.fetch_sub(1, sync::relaxed);
        }
      }
      if (!popped) {
        return found;  // null: stopping
      }
      w.parker.park();  // a waker has popped this worker: its token and assignment are there or about to be
      if (found != nullptr) {
        if (w.assigned == nullptr) {
          return found;
        }
        // Two arenas want it; the found one gets another.
        found->searchers_.fetch_sub(1, sync::seq_cst);
        found->domains_[w.domain].searchers.fetch_sub(1, sync::seq_cst);
        found->add_reference();
        unreserve(*found, w.domain);
        found->call_instead(w.domain);
        found->drop_reference();
      }
      continue;
    }
    w.parker.park();  // [S5]
    if (w.assigned == nullptr && stopping_.load(sync::seq_cst)) {
      return nullptr;
    }
  }
}

void resource_manager::stop_workers() noexcept {
  const std::lock_guard one_at_a_time(stop_lock_);
  std::vector<worker*> all;
  {
    const holder hold(*this);
    stopping_.store(true, sync::seq_cst);
    all = workers_;
    workers_.clear();
  }
  for (unsigned d = 0; d < domain_count_; ++d) {
    while (worker* w = pop_idle(d)) {
      w->parker.unpark();
    }
  }
  for (worker* w : all) {
    pthread_join(w->thread, nullptr);
    delete w;
  }
  const holder hold(*this);
  for (unsigned d = 0; d < domain_count_; ++d) {
    domains_[d].not_made.clear();
  }
  domain_of_worker_.clear();
  made_.store(0, sync::relaxed);
  deal(std::max(allowed_workers_.load(sync::relaxed), 1U));
  stopping_.store(false, sync::seq_cst);
  count_makeable();
}

}  // namespace homing::scheduler
