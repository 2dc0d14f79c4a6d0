#include "runtime/arena/observer_list.hpp"

#include <sched.h>

#include <algorithm>

#include <oneapi/tbb/task_scheduler_observer.h>

#include "sync/per_thread.hpp"

namespace homing::scheduler {
namespace {

/// An observer whose callback a thread runs, perhaps inside those of others: each may switch itself off from there.
struct running_callback {
  const observer_list::observer* of;
  const running_callback* outer;
};
const running_callback*& innermost_callback() noexcept {
  return sync::per_thread<const running_callback*, running_callback>();
}

std::intptr_t own_callbacks_of(const observer_list::observer& o) noexcept {
  std::intptr_t count = 0;
  for (const running_callback* c = innermost_callback(); c != nullptr; c = c->outer) count += c->of == &o ? 1 : 0;
  return count;
}

/// Forks that this process has come out of. Written while there is one thread.
unsigned forks_so_far = 0;

}  // namespace
}  // namespace homing::scheduler

namespace tbb::detail::r1 {

/// The friend that oneTBB's header names: ties an observer to the arena that it watches.
class observer_proxy {
 public:
  using shared_state = homing::scheduler::observer_list::shared_state;

  observer_proxy(d1::task_scheduler_observer& o, std::shared_ptr<shared_state> s, std::uint64_t n)
      : observer(o), state(std::move(s)), number(n), forks(state->forks) {}

  d1::task_scheduler_observer& observer;
  std::shared_ptr<shared_state> state;
  std::uint64_t number;
  homing::sync::plain<unsigned> forks;  ///< of its list, when it was activated

  static std::atomic<observer_proxy*>& of(d1::task_scheduler_observer& o) noexcept { return o.my_proxy; }
  static std::atomic<std::intptr_t>& busy(d1::task_scheduler_observer& o) noexcept { return o.my_busy_count; }
};

}  // namespace tbb::detail::r1

namespace homing::scheduler {

using proxy = tbb::detail::r1::observer_proxy;

namespace {

/// While it lives, a callback of that observer runs here, which was counted as busy; also if it ends by an exception.
class in_callback {
 public:
  explicit in_callback(observer_list::observer& o) noexcept : observer_(o), mine_{&o, innermost_callback()} {
    innermost_callback() = &mine_;
  }
  ~in_callback() {
    innermost_callback() = mine_.outer;
    proxy::busy(observer_).fetch_sub(1, sync::release);  // [O2]
  }
  in_callback(const in_callback&) = delete;
  in_callback& operator=(const in_callback&) = delete;

 private:
  observer_list::observer& observer_;
  const running_callback mine_;
};

}  // namespace

// Most arenas have no observer, and many live for one loop.
observer_list::shared_state& observer_list::made_state() {
  if (shared_state* const s = state()) {
    return *s;
  }
  auto fresh = std::make_shared<shared_state>();
  fresh->forks = forks_so_far;
  const sync::scoped_spin_lock hold(making_);
  if (owned_ == nullptr) {
    owned_.swap(fresh);
    state_.store(owned_.get(), sync::release);  // publishes it to state() [O4]
  }
  return *owned_;
}

// [A21] `making_` first: where there is no state yet, nobody makes one that the child would find locked.
void observer_list::lock_for_fork() noexcept {
  making_.lock();
  if (shared_state* const s = state()) {
    s->lock.lock();
  }
}

void observer_list::unlock_after_fork() noexcept {
  if (shared_state* const s = state()) {
    s->lock.unlock();
  }
  making_.unlock();
}

void observer_list::go_on_after_fork() noexcept {
  if (shared_state* const s = state()) {
    s->forks = forks_so_far;
  }
}
void observer_list::begin_anew_after_fork() noexcept { ++forks_so_far; }

observer_list::~observer_list() {
  shared_state* const s = state();
  if (s == nullptr) {
    return;
  }
  const std::lock_guard hold(s->lock);
  for (proxy* p : s->active) {
    // While it is listed, the observer lives: who switches it off takes it off this list first, under this lock. Who
    // has begun to has the proxy already, and frees it.
    proxy* mine = p;
    // Of us and of those who switch it off, one gets the proxy. [O3] release: an observer that is off may end.
    if (proxy::of(p->observer).compare_exchange_strong(mine, nullptr, sync::release, sync::relaxed)) {
      delete p;
    }
  }
  s->active.clear();
}

bool observer_list::activate(observer& o) {
  shared_state& s = made_state();
  const std::lock_guard hold(s.lock);
  auto fresh = std::make_unique<proxy>(o, owned_, s.newest.load(sync::relaxed) + 1);
  s.active.push_back(fresh.get());
  proxy* none = nullptr;
  // release: whoever takes it off, or asks is_observing(), finds it whole.
  if (!proxy::of(o).compare_exchange_strong(none, fresh.get(), sync::release, sync::relaxed)) {
    s.active.pop_back();
    return false;
  }
  s.newest.store(fresh.release()->number, sync::relaxed);  // who has seen it takes the lock to see who it is [O1]
  return true;
}

void observer_list::deactivate(observer& o) {
  // An exchange, so that of several threads that switch it off one frees the proxy. acquire: the proxy's fields, and
  // that an arena which has ended is done with the observer.
  const std::unique_ptr<proxy> p(proxy::of(o).exchange(nullptr, sync::acquire));
  if (p == nullptr) {
    return;
  }
  const bool is_of_before = p->forks != forks_so_far;
  if (p->state->forks != forks_so_far) {
    return;  // a list of before a fork: whoever held its lock, or was in a callback, does not exist here
  }
  {
    const std::lock_guard hold(p->state->lock);
    std::erase(p->state->active, p.get());
  }
  if (is_of_before) {
    return;  // it has only been this thread's since
  }
  const std::intptr_t own = own_callbacks_of(o);
  // [O2] acquire: what the last callback did is over.
  while (proxy::busy(o).load(sync::acquire) > own) {
    sched_yield();
  }
}

template <typename Call>
void observer_list::visit(number& after, const number& until, Call&& call) {
  shared_state* const s = state();
  if (s == nullptr) {
    return;
  }
  for (;;) {
    observer* o = nullptr;
    {
      const std::lock_guard hold(s->lock);
      const auto next =
          std::partition_point(s->active.begin(), s->active.end(), [&](const proxy* p) { return p->number <= after; });
      if (next == s->active.end() || (*next)->number > until) {
        return;
      }
      o = &(*next)->observer;
      after = (*next)->number;
      proxy::busy(*o).fetch_add(1, sync::relaxed);  // relaxed: under the lock that deactivate() takes first
    }
    const in_callback now(*o);
    call(*o);
  }
}

void observer_list::notify_entry(number& notified, bool is_worker) {
  const shared_state* const s = state();
  const number newest = s != nullptr ? s->newest.load(sync::relaxed) : 0;  // as at its store
  visit(notified, newest, [&](observer& o) { o.on_scheduler_entry(is_worker); });
  notified = std::max(notified, newest);
}

void observer_list::notify_exit(const number& notified, bool is_worker) {
  number told = 0;
  visit(told, notified, [&](observer& o) { o.on_scheduler_exit(is_worker); });
}

}  // namespace homing::scheduler
