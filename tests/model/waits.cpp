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
    const bool taken = (scope.isolation == no_isolation && h.a.spawned.take()) || h.a.isolated.take();
    if (taken) {
      h.done.fetch_add(1, sync::relaxed);
    }
    return taken;
  }

  /// Until `wait` is over, or it has run a task.
  void wait_for(hall& h, wait_context& wait, const search_scope& scope) {
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
    if (owes_call) {
      h.a.call_for_work_left(0);
    }
  }
};

void push_isolated(hall& h, visit& v) {
  h.a.isolated.push();
  h.a.new_work(work_places::tag_of_isolated, 0, *v.me.slot);
}

settings bounds(unsigned preemptions, unsigned stale) {
  return {.preemptions = preemptions, .sample_preemptions = 1, .stale = stale, .sample_stale = 1, .steps = 5'000};
}

// ---- [S1], [S2]: a task comes while a thread goes to sleep

const scenario one("waits: a push, and a thread that goes to sleep", bounds(3, 2), [] {
  hall h;
  visit pusher(h.a);
  waiter_in sleeper(h);
  threads_until_asleep({[&] { sleeper.wait_for(h, h.never, everything); }, [&] { pusher.push(); }});
  require(h.done.load(sync::relaxed) == 1, "the task was run");
});

const scenario one_isolated("waits: a push, and an isolated thread that goes to sleep", bounds(3, 2), [] {
  hall h;
  visit pusher(h.a);
  waiter_in sleeper(h);
  threads_until_asleep({[&] { sleeper.wait_for(h, h.never, isolated); }, [&] { push_isolated(h, pusher); }});
  require(h.done.load(sync::relaxed) == 1, "the task was run");
});

// ---- [S3]: the last searcher takes a task while another comes

const scenario last_one("waits: two pushes, a searcher and a sleeper", bounds(1, 1), [] {
  hall h;
  visit pusher(h.a);
  waiter_in first(h);
  waiter_in second(h);
  threads_until_asleep({[&] { first.wait_for(h, h.never, everything); },
                        [&] { second.wait_for(h, h.never, everything); },
                        [&] {
                          pusher.push();
                          pusher.push();
                        }});
  require(h.done.load(sync::relaxed) == 2, "both were run");
});

// ---- [S6]: what it waits for comes

const scenario over("waits: a wait that ends", bounds(3, 2), [] {
  hall h;
  waiter_in sleeper(h);
  wait_context wait(1);
  threads({[&] { sleeper.wait_for(h, wait, everything); }, [&] { wait.release(); }});
});

// ---- [S13]: an isolated sleeper is called, and its wait ends first

const scenario called_in_vain("waits: an isolated sleeper is called, and its wait ends", bounds(2, 1), [] {
  hall h;
  visit pusher(h.a);
  waiter_in first(h);
  waiter_in second(h);
  wait_context wait(1);
  threads_until_asleep({[&] { first.wait_for(h, wait, isolated); }, [&] { second.wait_for(h, h.never, isolated); },
                        [&] {
                          push_isolated(h, pusher);
                          wait.release();
                        }});
  require(h.done.load(sync::relaxed) == 1, "the call was handed on");
});

}  // namespace
