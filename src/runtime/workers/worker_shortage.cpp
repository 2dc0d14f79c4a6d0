/// When the system makes no thread: it is asked again later, by whoever comes by, and what was enqueued has a thread
/// all the same if there is one.
///
/// Threads:   any.
/// Protocol:  docs/protocols/arena.md [A15].
#include <algorithm>
#include <cstring>
#include <ctime>

#include "platform/clock.hpp"
#include "platform/env.hpp"
#include "runtime/arena/arena.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "sync/futex.hpp"

namespace homing::scheduler {
namespace {

constexpr std::int64_t wait_ns_min = 1'000'000;
constexpr std::int64_t wait_ns_max = 1'000'000'000;
constexpr unsigned insisting_max = 7;    ///< refusals in a row: 127 ms of waiting in all
constexpr unsigned pushes_per_look = 8;  ///< the clock costs half of a push, and tasks may be long and few

/// Twice as long each time.
std::int64_t wait_after(unsigned refusals) noexcept {
  return std::min(wait_ns_min << std::min(refusals - 1, 10U), wait_ns_max);
}

void sleep_for(std::int64_t ns) noexcept {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

}  // namespace

// Under the lock.
void resource_manager::note_refusal(int error) noexcept {
  const unsigned refusals = refusals_.load(sync::relaxed) + 1;
  static sync::atomic<bool> said{false};
  if (!said.exchange(true, sync::relaxed)) {
    platform::warn("cannot make worker thread %u: %s; going on with %u, and trying again later",
                   made_.load(sync::relaxed), std::strerror(error), made_.load(sync::relaxed));
  }
  refusals_.store(refusals, sync::relaxed);
  ask_again_ns_.store(platform::monotonic_ns() + wait_after(refusals), sync::relaxed);
  if (!refused_.exchange(true, sync::relaxed)) {
    have_sleepers_look();
  }
  // Whoever waits for the end of arenas may have to do their work itself.
  tell_finalizers();
}

/// Under the lock. Who went to sleep while nothing was refused sleeps without end: those who wait for tasks wake now,
/// and sleep again until it is time to ask. All do, since the wait of any one may end before that time. [A15]
void resource_manager::have_sleepers_look() noexcept {
  // The refusal is noted before the look at who sleeps; partner: a thread lists itself and passes a heavy fence, then
  // looks at the refusal.
  sync::light_fence();
  for (worker_account* a = arenas_.first(); a != nullptr; a = a->next) {
    a->owner.asleep().have_all_look();
  }
}

/// Allots to all and calls for all: the refusal was noted in one arena, and may end in another; and who came meanwhile
/// was given nothing.
void resource_manager::end_refusal() noexcept {
  arena_list waiting;
  {
    const holder hold(*this);
    // Of several whose time is over, one asks. It calls for all; or it was refused again, which set a new time.
    if (!is_refused() || platform::monotonic_ns() < ask_again_ns_.load(sync::relaxed)) {
      return;
    }
    // Before the look at work and places, by the heavy fence in there; partners: a push, and [S7] a place that is given
    // back, then the look whether a worker could be made.
    refused_.store(false, sync::relaxed);
    waiting = see_who_called();
  }
  call_for(waiting);
}

bool resource_manager::look_at_refusal() noexcept {
  // relaxed, and not one step: a count that is lost now and then only makes the look later.
  const unsigned looks = refusal_looks_.load(sync::relaxed) + 1;
  refusal_looks_.store(looks, sync::relaxed);
  if (looks % pushes_per_look != 0 || platform::monotonic_ns() < ask_again_ns_.load(sync::relaxed)) {
    return false;
  }
  end_refusal();
  return true;
}

void resource_manager::insist_on_worker(arena& a) noexcept {
  if (makes_first_.load(sync::relaxed)) {
    wait_for_makings();  // [A25] one for another arena may be refused, which nobody here would learn of
  }
  while (is_refused()) {
    const std::int64_t left_ns = ask_again_ns_.load(sync::relaxed) - platform::monotonic_ns();
    if (left_ns > 0) {
      if (made_.load(sync::relaxed) != 0 || refusals_.load(sync::relaxed) > insisting_max) {
        return;  // a worker finds it sooner or later; or it is left to who comes by later, and to who waits
      }
      sleep_for(left_ns);
    }
    end_refusal();
    a.call_for_work_left(a.account().called_for.load(sync::relaxed));
  }
}

bool resource_manager::park(sync::parker& p) noexcept {
  if (!is_refused()) {
    p.park();
    return true;
  }
  const std::int64_t wait_ns = ask_again_ns_.load(sync::relaxed) - platform::monotonic_ns();
  if (p.park_for(std::max(wait_ns, wait_ns_min))) {
    return true;
  }
  end_refusal();
  return false;
}

}  // namespace homing::scheduler
