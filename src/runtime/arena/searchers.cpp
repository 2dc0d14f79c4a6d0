#include "runtime/arena/searchers.hpp"

#include "platform/check.hpp"
#include "platform/clock.hpp"

namespace homing::scheduler {

/// [S14] Who leaves a count was part of it.
void searchers::check_withdrawal(int before, int weight) noexcept {
  platform::require_hot(
      [&] { return weight == outer_searcher ? outer_searchers(before) > 0 : before / nested_searcher > 0; },
      "S14: a searcher that stops was counted as one of its kind");
}

std::int64_t searchers::enter(thread_state& t, const search_scope& scope) noexcept {
  transfer_to(t.domain, scope);
  const std::int64_t now_ns = platform::monotonic_ns();
  t.slot->search_began_ns.store(now_ns, sync::relaxed);
  adopt(t);
  return now_ns;
}

void searchers::transfer_to(unsigned domain, const search_scope& scope) noexcept {
  // relaxed: the store-load races of the sleep protocol are ordered by its fences (S1, S2), not here.
  const int weight = weight_of(scope);
  all_.fetch_add(weight, sync::relaxed);
  places_.domain(domain).searchers.fetch_add(weight, sync::relaxed);
}

void searchers::stop_to_sleep(thread_state& t, const search_scope& scope) noexcept {
  t.slot->searching.store(false, sync::relaxed);
  const int weight = weight_of(scope);
  check_withdrawal(places_.domain(t.domain).searchers.fetch_sub(weight, sync::relaxed), weight);
  check_withdrawal(all_.fetch_sub(weight, sync::seq_cst), weight);
}

void searchers::stop_searching(thread_state& t, const search_scope& scope) noexcept {
  t.slot->searching.store(false, sync::relaxed);
  const int weight = weight_of(scope);
  // [S10] Where thieves stay, pushers rely on the first of these counts. seq_cst, both: see_all_pushes() [S9].
  const int before_here = places_.domain(t.domain).searchers.fetch_sub(weight, sync::seq_cst);
  const int before = all_.fetch_sub(weight, sync::seq_cst);
  check_withdrawal(before_here, weight);
  check_withdrawal(before, weight);
  const int relied_on = places_.thieves_stay() ? before_here : before;
  if (relied_on == weight) {
    hand_over(t.domain);
  } else if (scope.takes_enqueued && outer_searchers(relied_on) == 1) {
    hand_over_enqueued(t.domain);
  }
}

// [S3] The last thread that searched takes a task: whoever pushed meanwhile relied on it, so it hands the duty on.
void searchers::hand_over(unsigned domain) noexcept {
  if (!caller_.could_come()) {
    return;
  }
  const bool stay = places_.thieves_stay();
  const unsigned by = stay ? domain : work_places::anybody;
  if (!places_.has_work(no_isolation, by)) {
    see_all_pushes();
    if (!places_.has_work(no_isolation, by)) {
      caller_.found_nothing_left();
      return;
    }
  }
  const bool only_here = stay && places_.resumed.empty() && !places_.has_common_task({});
  caller_.call({.home = domain}, only_here ? reach::home : reach::all);
}

// [S14] Those that still search are in nested waits. Who enqueues has passed a full fence before its look.
void searchers::hand_over_enqueued(unsigned domain) noexcept {
  if (!caller_.could_come()) {
    return;
  }
  sync::full_fence_after_exchange();
  if (places_.has_enqueued_for(places_.thieves_stay() ? domain : work_places::anybody)) {
    caller_.call({work_kind::enqueued, no_isolation, domain}, reach::all);
  }
}

void searchers::withdraw(unsigned domain) noexcept {
  check_withdrawal(places_.domain(domain).searchers.fetch_sub(outer_searcher, sync::seq_cst), outer_searcher);
  check_withdrawal(all_.fetch_sub(outer_searcher, sync::seq_cst), outer_searcher);
}

void searchers::forget_after_fork() noexcept {
  all_.store(0, sync::relaxed);
  for (unsigned d = 0; d < places_.domain_count(); ++d) {
    places_.domain(d).searchers.store(0, sync::relaxed);
  }
}

// [S9] A heavy fence interrupts every CPU that runs a thread of this process. Where small tasks are stolen one by one,
// that would cost more than the tasks: then pushers take the duty over, until searchers stop rarely again.
void searchers::see_all_pushes() noexcept {
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

}  // namespace homing::scheduler
