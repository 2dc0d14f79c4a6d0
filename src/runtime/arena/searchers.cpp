#include "runtime/arena/searchers.hpp"

#include "platform/clock.hpp"

namespace homing::scheduler {

std::int64_t searchers::enter(thread_state& t, const search_scope& scope) noexcept {
  transfer_to(t.domain, scope);
  const std::int64_t now_ns = adopt(t);
  t.slot->search_began_ns.store(now_ns, sync::relaxed);
  return now_ns;
}

std::int64_t searchers::adopt(thread_state& t) noexcept {
  platform::require_hot([&] { return places_.searching.in_domain(t.domain) > 0; },
                        "S4: who wakes a thread has counted it as searching");
  const std::int64_t now_ns = platform::monotonic_ns();
  t.slot->searches_since_ns.store(now_ns, sync::relaxed);
  t.slot->searching.set();
  return now_ns;
}

void searchers::transfer_to(domain_index domain, const search_scope& scope) noexcept {
  places_.searching.begin(domain, weight_of(scope));
}

void searchers::stop_to_sleep(thread_state& t, const search_scope& scope) noexcept {
  t.slot->searching.clear();
  places_.searching.end(t.domain, weight_of(scope));
}

void searchers::stop_searching(thread_state& t, const search_scope& scope) noexcept {
  t.slot->searching.clear();
  const searcher_counts::stopped left = places_.searching.end(t.domain, weight_of(scope));
  // [A23] Before what it pushes next, and its look at the share. [S9] [S14] Before the looks below, whose partner is a
  // pusher's full fence.
  sync::full_fence_after_exchange();
  // [S10] Where thieves stay, pushers rely on their domain's searchers.
  const bool stay = places_.thieves_stay();
  if (stay ? left.last_of_domain : left.last) {
    hand_over(t);
  } else if (stay ? left.last_outer_of_domain : left.last_outer) {
    hand_over_enqueued(t.domain);
  }
}

// [S3] The last thread that searched takes a task: whoever pushed meanwhile relied on it, so it hands the duty on.
void searchers::hand_over(const thread_state& t) noexcept {
  if (!caller_.could_come()) {
    return;
  }
  const domain_index domain = t.domain;
  const bool stay = places_.thieves_stay();
  const domain_index by = stay ? domain : work_places::anybody;
  places_.ask_for_forks();
  if (!places_.has_work(no_isolation, by)) {
    if (places_.may_have_pusher(t.slot_number)) {  // [A23] else the full fence behind the count is enough
      see_all_pushes();
    }
    if (!places_.has_work(no_isolation, by)) {
      caller_.found_nothing_left();
      return;
    }
  }
  const bool only_here = stay && places_.resumed.empty() && !places_.has_common_task({});
  caller_.call({.home = domain}, only_here ? reach::home : reach::all);
}

// [S14] Those that still search are in nested waits. Who enqueues has passed a full fence before its look.
void searchers::hand_over_enqueued(domain_index domain) noexcept {
  if (!caller_.could_come()) {
    return;
  }
  if (places_.has_enqueued_for(places_.thieves_stay() ? domain : work_places::anybody)) {
    caller_.call({work_kind::enqueued, no_isolation, domain}, reach::all);
  }
}

void searchers::withdraw(domain_index domain) noexcept { places_.searching.end(domain, outer_searcher); }

void searchers::forget_after_fork() noexcept { places_.searching.forget(); }

// [S9] A heavy fence interrupts every CPU that runs a thread of this process. Where small tasks are stolen one by one,
// that would cost more than the tasks: then pushers take the duty over, until searchers stop rarely again.
void searchers::see_all_pushes() noexcept {
  constexpr unsigned quick_looks_max = 8;
  const std::int64_t now = platform::monotonic_ns();
  const std::int64_t since = now - last_look_ns_.exchange(now, sync::relaxed);
  // relaxed: the heavy fence before the duty became the pushers' was every thread's, this one's too. What was pushed
  // before it shows.
  fence_duty duty = fence_duty_.load(sync::relaxed);
  if (duty == fence_duty::pushers) {
    if (since < look_pace_.rare_ns) {
      if (places_.has_lanes()) {
        sync::heavy_fence();  // [F6] who forks passes a light one
      }
      return;  // the full fence behind the count is before the look; partner: a pusher's full fence
    }
    // An exchange of `pushers` alone: a thread held up here must not end a change that others have begun since.
    // relaxed: its own heavy fence and look follow.
    fence_duty_.compare_exchange_strong(duty, fence_duty::searchers, sync::relaxed, sync::relaxed);
  } else if (since >= look_pace_.soon_ns) {
    quick_looks_.store(0, sync::relaxed);
  } else if (quick_looks_.fetch_add(1, sync::relaxed) >= quick_looks_max && duty == fence_duty::searchers &&
             fence_duty_.compare_exchange_strong(duty, fence_duty::changing, sync::relaxed, sync::relaxed)) {
    quick_looks_.store(0, sync::relaxed);
    sync::heavy_fence();  // whoever pushed before it saw the change is seen now; all others pass full fences
    // relaxed: behind that fence.
    platform::require(fence_duty_.exchange(fence_duty::pushers, sync::relaxed) == fence_duty::changing,
                      "S9: who begins a change of duty ends it");
    return;
  }
  sync::heavy_fence();
}

}  // namespace homing::scheduler
