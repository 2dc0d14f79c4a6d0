/// A thread's search for its next task: it looks everywhere, and rests as its waiter does, until it finds one or has
/// what it waits for.
///
/// Threads:   the calling thread; a search that rests on a coroutine may go on with another.
/// Protocols: docs/protocols/sleep.md [S3], [S13], [S15].
#pragma once

#include <utility>

#include "platform/clock.hpp"
#include "runtime/search/find_task.hpp"
#include "runtime/search/mail.hpp"
#include "runtime/search/own_tasks.hpp"
#include "runtime/search/search_pace.hpp"
#include "runtime/search/stealing.hpp"
#include "runtime/search/waiters.hpp"
#include "runtime/stack/stay.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "runtime/thread/thread_domain.hpp"

namespace homing::scheduler {

/// Whether the thread is counted as searching already: its waker did so.
enum class search_mark : bool { none, held };

/// [S13] Whether somebody has called this stack for work that it has not looked for yet.
enum class call_duty : bool { none, owed };

inline void hand_call_on(const thread_state& t, call_duty& duty) noexcept {
  if (__builtin_expect(std::exchange(duty, call_duty::none) == call_duty::owed, false)) {
    t.in->call_for_work_left(t.domain);
  }
}

/// The last steal is judged by what came of it, and the thread's place on the machine is looked up anew.
void begin_looking(thread_state& t, std::int64_t now_ns) noexcept;

/// That the thread is here, before the task that it has found: in that one's context an exception of theirs ends, so
/// that it is cancelled. A stack that may go on has no such context: they are told before the next task.
void tell_observers(thread_state& t, const task& found) noexcept;

/// One look everywhere. A critical task that is found forbids others on its stack: they do not nest.
template <waiter Waiter>
[[nodiscard]] found_task look_once(dispatcher& d, const Waiter& waiter, const search_scope& scope,
                                   const search_pace& pace) noexcept {
  thread_state& t = *d.thread;
  take_permission may_take(&Waiter::may_take);
  if (const found_task urgent = take_critical(t, scope, may_take)) {
    d.critical_allowed = false;
    return urgent;
  }
  return find_task(t, {scope, may_take, scope.may_steal ? t.backoff.in_round(pace.rounds()) : victims::none,
                       pace.left(), pace.on_forks(), pace.end(), waiter.wait(), pace.rounds()});
}

/// [A12] The last question. Of a shared queue's task it was asked under the lock; a stack that may go on is anybody's.
template <waiter Waiter>
[[nodiscard]] bool may_run(const thread_state& t, const found_task& found) noexcept {
  return found.was_asked || task_access::is_resume(*found.what) || Waiter::may_take(t);
}

/// [A22] If an arena waits for a worker, all are dealt anew, and the thread sees at its next look whether it should
/// leave.
template <waiter Waiter>
void see_to_newcomers(arena& a, const search_pace& pace) noexcept {
  if (Waiter::is_for_any_arena && pace.has_looked_everywhere() && a.supplier().newcomer_waits()) {
    a.supplier().serve_newcomers();
  }
}

/// Looks everywhere until there is a task, or the waiter has what it waits for; none then.
template <waiter Waiter>
task* look_until_found(dispatcher& d, Waiter& waiter, const search_scope& scope, call_duty& duty) {
  search_pace pace;
  for (;;) {
    if (const found_task found = look_once(d, waiter, scope, pace)) {
      if (!may_run<Waiter>(*d.thread, found)) {
        put_back(*d.thread, *found.what);
        return nullptr;
      }
      return found.what;
    }
    if (!waiter.keep_going(*d.thread)) {
      return nullptr;
    }
    if (waiter.nothing_can_come(*d.thread)) {  // [A22] but one look more, since it may have left something to others
      if (!pace.skip_to_last_look()) {
        return nullptr;
      }
      static_cast<void>(d.thread->backoff.ends_at_rest(0));
      continue;
    }
    const auto is_over = [&] { return has_mail(*d.thread, scope.isolation) || !waiter.keep_going(*d.thread); };
    if (pace.pause(budget_in(*d.thread->in), is_over)) {
      if (!waiter.keep_going(*d.thread)) {
        return nullptr;  // as soon as what it waited for has come
      }
      see_to_newcomers<Waiter>(*d.thread->in, pace);
      continue;
    }
    // Nobody rests before a look at all deques.
    const bool backed_off = d.thread->backoff.ends_at_rest(pace.rounds());
    if ((pace.look_at_all_next() || backed_off) && scope.may_steal) {
      continue;
    }
    const rest_result how = waiter.rest(*d.thread, scope);
    // Who is not called, or not for nothing, has looked everywhere itself: in its rounds, or [S1] before it slept.
    duty = how == rest_result::called ? call_duty::owed : call_duty::none;
    if (how == rest_result::leave || !waiter.keep_going(*d.thread)) {
      return nullptr;
    }
    pace.reset();
  }
}

/// The same, counted as searching meanwhile if pushers may rely on the thread.
template <waiter Waiter>
task* search(dispatcher& d, Waiter& waiter, const search_scope& scope, search_mark mark, call_duty& duty) {
  if (scope.may_steal && d.thread->backoff.will_steal_at_once()) {
    expect_steal(*d.thread);
  } else {
    d.thread->expected_victim = no_slot;
  }
  const bool begins = scope.is_counted() && mark == search_mark::none;
  const std::int64_t now_ns = begins ? d.thread->in->search().enter(*d.thread, scope) : platform::monotonic_ns();
  begin_looking(*d.thread, now_ns);
  if (Waiter::is_for_any_arena && d.thread->in->supplier().mandatory_turn_is_over(now_ns)) {
    d.thread->in->supplier().end_mandatory_turn();
  }
  task* const found = look_until_found(d, waiter, scope, duty);
  thread_state& t = *d.thread;  // may be another than before
  if (__builtin_expect(t.is_absent, false)) {
    step_back(t);
  }
  if (scope.is_counted()) {
    t.in->search().stop_searching(t, scope);  // whoever relied on this search: look on its behalf
  }
  hand_call_on(t, duty);
  if (found != nullptr) {
    if (Waiter::is_for_any_arena && mark == search_mark::held) {
      t.in->worker_was_of_use();
    }
    t.looks_since_ns = 0;
    if (__builtin_expect(t.in->observers.has_news(t.notified), false)) {
      tell_observers(t, *found);
    }
  }
  return found;
}

}  // namespace homing::scheduler
