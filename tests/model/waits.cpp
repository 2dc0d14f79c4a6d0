/// Waits in an arena: no task waits, and no wait is over, while a thread that could see to it sleeps. Method:
/// executions of pushers, searchers and sleepers in the production arena, without workers; docs/protocols/sleep.md
/// [S1] to [S4], [S6], [S9], [S13].
#include "arena_in_small.hpp"
#include "runtime/search/waiters.hpp"
#include "runtime/stack/suspend_point.cpp"
#include "runtime/thread/wait_table.cpp"

namespace homing::scheduler {

thread_state& this_thread() { std::abort(); }
void notify_waiters(std::uintptr_t address) noexcept { waiting_threads.notify(address); }
leave_result yield_until_empty(thread_state& /*t*/, wait_context& /*wait*/, const search_scope& /*scope*/) noexcept {
  std::abort();
}

}  // namespace homing::scheduler

namespace {

using namespace homing;
using namespace homing::model;
using namespace homing::scheduler;

constexpr search_scope everything{};
constexpr search_scope isolated{.isolation = work_places::tag_of_isolated};

struct hall {
  no_workers nobody;
  arena& a;
  wait_context never{1};  ///< what sleepers wait for that are called for tasks
  sync::atomic<int> done{0};

  hall() : a(make_arena(nobody)) {
    new (&waiting_threads) wait_table;  // static: it keeps the lists of an execution that was cut short
  }
};

/// A thread in a wait: it looks, and rests when it has found nothing; as a dispatch loop. [S3], [S13]
struct waiter_in {
  visit stay;
  dispatcher base;

  explicit waiter_in(hall& h) : stay(h.a) {
    stay.me.slot->base = &base;
    stay.me.running = &base;
  }

  bool take(hall& h, const search_scope& scope) {
    const bool taken =
        (scope.isolation == no_isolation && (h.a.spawned.take() || h.a.unaddressed.take())) || h.a.isolated.take();
    if (taken) {
      h.done.fetch_add(1, sync::relaxed);
    }
    return taken;
  }

  /// Until `wait` is over, or it has run a task.
  void wait_for(hall& h, wait_context& wait, const search_scope& scope, bool hands_call_on = true) {
    context_waiter waiter(wait);
    bool owes_call = false;
    if (scope.is_counted()) {
      h.a.search().enter(stay.me, scope);
    }
    for (;;) {
      if (!waiter.keep_going(stay.me) || take(h, scope)) {
        break;
      }
      const rest_result how = waiter.rest(stay.me, scope);
      owes_call = how == rest_result::called;
    }
    if (scope.is_counted()) {
      h.a.search().stop_searching(stay.me, scope);
    }
    if (owes_call && hands_call_on) {
      h.a.call_for_work_left(domain_index{0});
    }
  }
};

void push_isolated(hall& h, visit& v) {
  h.a.isolated.push();
  h.a.new_work(work_places::tag_of_isolated, domain_index{0}, *v.me.slot);
}

settings bounds(unsigned preemptions, unsigned stale) {
  return {.preemptions = preemptions, .sample_preemptions = 1, .stale = stale, .sample_stale = 1, .steps = 5'000};
}

/// Of code that was wrong once.
settings as_it_was(const char* fault) {
  settings s = bounds(2, 1);
  s.fault = fault;
  return s;
}

// ---- [S1], [S2]: a task comes while a thread goes to sleep

const scenario one("waits: a push, and a thread that goes to sleep", bounds(3, 2), [] {
  hall h;
  visit pusher(h.a);
  waiter_in sleeper(h);
  threads_until_settled({[&] { sleeper.wait_for(h, h.never, everything); }, [&] { pusher.push(); }});
  require(h.done.load(sync::relaxed) == 1, "the task was run");
});

const scenario one_isolated("waits: a push, and an isolated thread that goes to sleep", bounds(3, 2), [] {
  hall h;
  visit pusher(h.a);
  waiter_in sleeper(h);
  threads_until_settled({[&] { sleeper.wait_for(h, h.never, isolated); }, [&] { push_isolated(h, pusher); }});
  require(h.done.load(sync::relaxed) == 1, "the task was run");
});

// ---- [S3]: the last searcher takes a task while another comes

const scenario last_one("waits: two pushes, a searcher and a sleeper", bounds(1, 1), [] {
  hall h;
  visit pusher(h.a);
  waiter_in first(h);
  waiter_in second(h);
  threads_until_settled({[&] { first.wait_for(h, h.never, everything); },
                         [&] { second.wait_for(h, h.never, everything); },
                         [&] {
                           pusher.push();
                           pusher.push();
                         }});
  require(h.done.load(sync::relaxed) == 2, "both were run");
});

// ---- [S6]: what it waits for comes

void wait_that_ends(const search_scope& scope) {
  hall h;
  waiter_in sleeper(h);
  wait_context wait(1);
  sync::plain<int> made = 0;
  threads({[&] {
             sleeper.wait_for(h, wait, scope);
             require(made == 1, "who has waited sees what was done before the release");
           },
           [&] {
             made = 1;
             wait.release();
           }});
}
const scenario over("waits: a wait that ends", bounds(3, 2), [] { wait_that_ends(everything); });
const scenario isolated_over("waits: an isolated wait that ends", bounds(3, 2), [] { wait_that_ends(isolated); });

// ---- [S13]: an isolated sleeper is called, and its wait ends first

template <bool HandsOn>
void call_in_vain() {
  hall h;
  visit pusher(h.a);
  waiter_in first(h);
  waiter_in second(h);
  wait_context wait(1);
  threads_until_settled({[&] { first.wait_for(h, wait, isolated, HandsOn); },
                         [&] { second.wait_for(h, h.never, isolated); },
                         [&] {
                           push_isolated(h, pusher);
                           wait.release();
                         }});
  require(h.done.load(sync::relaxed) == 1, "the call was handed on");
}
const scenario called_in_vain("waits: an isolated sleeper is called, and its wait ends", bounds(2, 1),
                              call_in_vain<true>);
const scenario not_handed_on("waits, as they were: a call in vain is not handed on",
                             as_it_was("the call was handed on"), call_in_vain<false>);

// ---- [S3], [S4]: a thread was counted that does not come

template <bool CallsAnother>
void nobody_comes() {
  hall h;
  visit pusher(h.a);
  waiter_in sleeper(h);
  threads_until_settled({[&] { sleeper.wait_for(h, h.never, isolated); }, [&] { push_isolated(h, pusher); },
                         [&] {
                           h.a.search().transfer_to(domain_index{0}, everything);
                           h.a.search().withdraw(domain_index{0});
                           if (CallsAnother) {
                             h.a.call_instead(domain_index{0});
                           }
                         }});
  require(h.done.load(sync::relaxed) == 1, "somebody was called in place of who did not come");
}
const scenario instead("waits: a thread that was counted does not come", bounds(2, 1), nobody_comes<true>);
const scenario mark_lost("waits, as they were: a mark is withdrawn, and nobody called",
                         as_it_was("somebody was called in place"), nobody_comes<false>);

// ---- [S3], [S9]: a searcher that has no use for the task stops, while an isolated sleeper has

/// `looks`: so many searchers have stopped before, each soon after the other; `at_ns`: when the last one stops.
template <unsigned Looks>
void one_stops(std::int64_t at_ns) {
  hall h;
  visit pusher(h.a);
  waiter_in sleeper(h);
  visit searcher(h.a);
  for (unsigned i = 0; i < Looks; ++i) {
    h.a.search().enter(searcher.me, everything);
    h.a.search().stop_searching(searcher.me, everything);
  }
  h.a.search().enter(searcher.me, everything);
  set_time(at_ns);
  threads_until_settled({[&] { sleeper.wait_for(h, h.never, isolated); }, [&] { push_isolated(h, pusher); },
                         [&] { h.a.search().stop_searching(searcher.me, everything); }});
  require(h.done.load(sync::relaxed) == 1, "the last searcher saw the push, or its pusher saw nobody");
}
constexpr std::int64_t rare_ns = searchers::look_pace{}.rare_ns;
const scenario searchers_pay("waits: the last searcher stops", bounds(2, 1), [] { one_stops<0>(rare_ns); });
const scenario duty_changes("waits: the last searcher stops, and pushers pay from now on", bounds(2, 1),
                            [] { one_stops<8>(0); });
/// The look before the fence and the one behind it may both be stale.
const scenario duty_changes_late("waits: the same, and a push that shows late", bounds(1, 2), [] { one_stops<8>(0); });

/// One searcher changes the duty, the next finds it changed. A thread sleeps already.
const scenario duty_changed("waits: a searcher stops, after one that has pushers pay", bounds(2, 2), [] {
  hall h;
  visit pusher(h.a);
  visit first(h.a);
  visit second(h.a);
  thread_state asleep;
  for (unsigned i = 0; i < 8; ++i) {
    h.a.search().enter(first.me, everything);
    h.a.search().stop_searching(first.me, everything);
  }
  h.a.search().enter(first.me, everything);
  sleeper resting(asleep, isolated);
  h.a.asleep().add(resting);
  threads({[&] { push_isolated(h, pusher); }, [&] { h.a.search().stop_searching(first.me, everything); },
           [&] {
             h.a.search().enter(second.me, everything);
             h.a.search().stop_searching(second.me, everything);
           }});
  require(h.a.asleep().remove(resting), "the sleeper was called");
});
const scenario pushers_pay("waits: the last searcher stops where pushers pay", bounds(2, 1), [] { one_stops<10>(0); });
const scenario duty_returns("waits: the last searcher stops, and searchers pay again", bounds(2, 1),
                            [] { one_stops<10>(rare_ns); });

settings as_on_x86(const char* fault) {
  settings s = as_it_was(fault);
  s.relies_on_x86 = true;
  return s;
}
const scenario x86_only("waits, as they were: leaving the count is taken for a fence",
                        as_on_x86("the last searcher saw the push"), [] { one_stops<10>(0); });

// ---- [S14]: an enqueued task is for outermost loops

const scenario enqueued("waits: the last outermost searcher stops, a nested one goes on", bounds(2, 1), [] {
  hall h;
  waiter_in sleeper(h);
  visit outer(h.a);
  visit nested(h.a);
  h.a.search().enter(outer.me, everything);
  h.a.search().enter(nested.me, {.takes_enqueued = false});
  threads_until_settled({[&] { sleeper.wait_for(h, h.never, everything); },
                         [&] { h.a.submit(any_task(), work_places::no_home, 0); },
                         [&] { h.a.search().stop_searching(outer.me, everything); }});
  require(h.done.load(sync::relaxed) == 1, "the task was run");
});

}  // namespace
