#include "runtime/search/find_task.hpp"

#include "runtime/search/mail.hpp"
#include "runtime/search/own_tasks.hpp"
#include "runtime/search/stealing.hpp"

namespace homing::scheduler {
namespace {

found_task in_queue(task* item) noexcept { return {item, item != nullptr}; }

/// Waits for who takes from the queue: where its domain's tasks are, a thread that went on would take another domain's.
found_task take_from(task_queue& queue, const thread_state& t, const search_round& how) noexcept {
  return in_queue(queue.take_if([&](const task&) { return how.may_take(t); }));
}

/// Waits for nobody: these are for any thread, and this one looks again.
found_task take_unaddressed(thread_state& t, const search_round& how) noexcept {
  return in_queue(t.in->unaddressed.try_take_if(t.next_shard, [&](const task&) { return how.may_take(t); }));
}

/// The oldest of a domain's queues that the thread may take.
found_task take_queued_of(arena_domain& d, const thread_state& t, const search_round& how) noexcept {
  const found_task found = take_from(d.detached, t, how);
  return !found && how.scope.takes_enqueued ? take_from(d.enqueued, t, how) : found;
}

/// Whether a thread looks into the queues of a domain that is not its own: figure 9's test while it has patience; and
/// who may not leave its domain still serves queues that nobody else could.
bool serves_other(const arena& a, domain_index domain, patience p) noexcept {
  const arena_domain& other = a.domain(domain);
  if (p == patience::some &&
      (a.searching.in_domain(domain) > 0 || other.active.load(sync::relaxed) < other.allotted.load(sync::relaxed))) {
    return false;
  }
  return a.steal() != steal_policy::domain || a.is_unserved(other);
}

/// Of two lines that are seldom written. Who searches in a domain is, by each of its searchers.
bool looks_queued(const arena_domain& d, const search_scope& scope) noexcept {
  return !d.detached.empty() || (scope.takes_enqueued && !d.enqueued.empty());
}

found_task take_queued_of_others(thread_state& t, const search_round& how) noexcept {
  arena& a = *t.in;
  for (const domain_index other : a.settings().machine.nearest_first(t.domain)) {
    if (!looks_queued(a.domain(other), how.scope) || !serves_other(a, other, how.with_mail)) {
      continue;
    }
    if (const found_task found = take_queued_of(a.domain(other), t, how)) {
      return found;
    }
  }
  return {};
}

/// Rules 5', 5'', 5''': whose maker waits at the door, the domain's queues, the queue without affinity, the others'
/// from near to far.
found_task take_queued(thread_state& t, const search_round& how) noexcept {
  arena& a = *t.in;
  found_task found = how.scope.takes_enqueued ? take_from(a.delegated, t, how) : found_task{};
  if (!found) {
    found = take_queued_of(a.domain(t.domain), t, how);
  }
  if (!found && how.scope.takes_enqueued) {
    found = take_unaddressed(t, how);
  }
  if (!found && a.domain_count() > 1) {
    found = take_queued_of_others(t, how);
  }
  if (found) {
    t.counters.add(observe::event::shared_queue);
  }
  return found;
}

task* take_overflowed(const thread_state& t, const search_round& how) noexcept {
  return t.in->overflowed.take_if(
      [&](const task& s) { return how.scope.fits(task_access::isolation(s)) && how.may_take(t); });
}

task* take_resumed(thread_state& t) noexcept {
  if (t.in->resumed.empty()) {
    return nullptr;
  }
  left_stack* stack = t.in->resumed.take();
  t.resumed_last = stack != nullptr;
  return stack == nullptr ? nullptr : &stack->continuation();
}

/// Queues, then deques; a stack that may go on before them, or after them, if the last find was one.
found_task find_beyond_mail(thread_state& t, const search_round& how) noexcept {
  // Isolated or not: the stack goes on by itself, not on top of this one, and it may be what this thread waits for. But
  // two stacks that wait must not take each other for ever: after one, tasks come first. [U7]
  const bool resumed_first = !t.resumed_last;
  search_round tasks = how;
  if (resumed_first) {
    if (task* found = take_resumed(t)) {
      return {found};
    }
  } else if (how.scope.may_steal) {
    tasks.steals_from = victims::any;  // a stack that leaves others' tasks alone would meet only the other stack
  }
  found_task found = how.scope.isolation == no_isolation ? take_queued(t, how) : found_task{};
  if (!found && tasks.steals_from != victims::none) {
    found.what = steal(t, tasks);
  }
  if (!found && !resumed_first) {
    found.what = take_resumed(t);
  }
  t.resumed_last = found && task_access::is_resume(*found.what);
  return found;
}

}  // namespace

found_task take_critical(thread_state& t, const search_scope& scope, take_permission& may_take) noexcept {
  task_queue& critical = t.in->critical;
  if (!scope.takes_critical || critical.empty()) {
    return {};
  }
  // Who may not have it does not take it out, not even to put it back. The pusher's thread would pass it over
  // meanwhile, and run what it was to go before. [A12]
  const auto accepts = [&](const task& c) { return scope.fits(task_access::isolation(c)) && may_take(t); };
  return in_queue(critical.take_if(accepts));
}

found_task find_task(thread_state& t, const search_round& how) noexcept {
  if (__builtin_expect(!t.in->overflowed.empty(), false)) {
    if (task* found = take_overflowed(t, how)) {
      return {found};
    }
  }
  if (how.scope.isolation != no_isolation && !has_room(t)) {
    return {take_resumed(t)};  // what turns out to be of another region could not be kept
  }
  if (task* found = take_mail(t, how)) {
    return {found};
  }
  found_task found = find_beyond_mail(t, how);
  if (!found && !how.wait_is_over() && has_mail(t, how.scope.isolation)) {  // it has come meanwhile
    found.what = take_mail(t, how);
  }
  return found;
}

}  // namespace homing::scheduler
