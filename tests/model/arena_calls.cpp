/// What an arena's own fences are for, one by one: who needs a slot gets one, who comes with work finds somebody or
/// calls, the last worker leaves no work behind, and a stack that may go on has somebody who can. Method: executions of
/// two threads in the production arena, whose supplier only notes that it was asked; docs/protocols/arena.md [A2],
/// [A3], [A20], [A23], sleep.md [S3].
///
/// Two threads, so that the fence of a third does not stand in for theirs.
#include "arena_in_small.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using namespace homing::scheduler;

const settings all_orders = {.preemptions = 3, .sample_preemptions = 2, .stale = 2, .sample_stale = 2, .steps = 5'000};

/// A stack that may go on, and that nobody goes on with.
struct any_stack final : left_stack {
  void resume() noexcept override {}
  [[nodiscard]] task& continuation() noexcept override { return any_task(); }
};

/// Workers are asked for, and none comes.
struct asked_for_workers final : no_workers {
  sync::atomic<int> asked{0};
  void allow_worker() noexcept { allottable_workers_.store(1, sync::relaxed); }
  void demand_changed() noexcept override { asked.fetch_add(1, sync::relaxed); }
  bool demand_rose(arena& /*a*/, domain_index /*home*/) noexcept override {
    demand_changed();
    return false;
  }
  bool list_newcomer(arena& /*a*/) noexcept override {
    demand_changed();
    return false;
  }
};

// ---- [A2]: a thread that needs a slot, and one that frees it

/// As a thread in execute(), but that it has no task of its own.
void wait_for_slot(arena& a, thread_state& me) {
  sleeper s(me);
  for (;;) {
    a.asleep().wait_for_slot(s);
    sync::heavy_fence();
    if (a.occupy_slot(me, thread_kind::application) != no_slot) {
      break;
    }
    me.parker.park();
  }
  a.asleep().stop_waiting_for_slot(s);
}

const scenario freed("arena calls: the only slot is freed beside a thread that needs it", all_orders, [] {
  no_workers nobody;
  arena& a = make_arena(nobody, 1, 1);
  visit inside(a);
  thread_state outside;
  bool came = false;
  threads_until_settled({[&] {
                           wait_for_slot(a, outside);
                           came = true;
                         },
                         [&] { inside.leave(); }});
  require(came, "who needs a slot gets the one that is freed");
});

/// Two need one: whoever does not get it is called by whoever does, when that one leaves.
const scenario freed_twice("arena calls: two threads need the slot that is freed",
                           {.preemptions = 1, .sample_preemptions = 1, .stale = 1, .sample_stale = 0, .steps = 5'000},
                           [] {
                             no_workers nobody;
                             arena& a = make_arena(nobody, 1, 1);
                             visit inside(a);
                             thread_state outside[2];
                             sync::atomic<int> came{0};
                             const auto come_and_go = [&](thread_state& me) {
                               wait_for_slot(a, me);
                               came.fetch_add(1, sync::relaxed);
                               a.release_slot(slot_id{0});
                             };
                             threads_until_settled({[&] { come_and_go(outside[0]); }, [&] { come_and_go(outside[1]); },
                                                    [&] { inside.leave(); }});
                             require(came.load(sync::relaxed) == 2, "both get it, one after the other");
                           });

// ---- [A23], [S3]: work from outside, beside the last searcher, which has a task

/// Nobody else is inside, so the searcher looks at what was pushed behind a full fence. All slots are the
/// application's: no worker is asked for but by who finds nobody searching, or by who stops.
template <typename Push>
void push_from_outside(Push push) {
  asked_for_workers supplier;
  arena& a = make_arena(supplier, 2, 2);
  visit inside(a);
  a.search().enter(inside.me, {});
  threads({[&] { a.search().stop_searching(inside.me, {}); }, [&] { push(a); }});
  require(supplier.asked.load(sync::relaxed) > 0, "the last searcher saw the push, or its pusher saw nobody");
}

const scenario submitted("arena calls: the last searcher stops beside a task from outside", all_orders,
                         [] { push_from_outside([](arena& a) { a.submit(any_task(), work_places::no_home, 0); }); });
const scenario delegated("arena calls: the same, with a body that is delegated", all_orders,
                         [] { push_from_outside([](arena& a) { a.delegate(any_task()); }); });
const scenario critical("arena calls: the same, with a critical task", all_orders,
                        [] { push_from_outside([](arena& a) { a.submit_critical(any_task()); }); });

// ---- [A3]: work comes while the only worker leaves

/// A worker that is there, without a thread, in an arena that is busy.
struct worker_inside {
  asked_for_workers supplier;
  arena& a;
  thread_state me;
  slot_id number = no_slot;

  explicit worker_inside(std::optional<domain_index> only_domain = {}) : a(make_arena(supplier, 2, 1, only_domain)) {
    a.add_reference();
    a.account().busy.store(true, sync::relaxed);
    a.account().workers.store(1, sync::relaxed);
    a.domain(domain_index{0}).active.store(1, sync::relaxed);
    number = a.occupy_slot(me, thread_kind::worker);
    require(number != no_slot, "there is room");
    stay_in(me, a, number);
  }
  void leave() {
    a.worker_leaves(me.domain, number);
    a.release_slot(number);
    a.drop_reference();
  }
  void require_asked(bool work_is_left) const {
    require(!work_is_left || (a.account().busy.load(sync::relaxed) && supplier.asked.load(sync::relaxed) > 0),
            "for what was left, a worker is wanted and was asked for");
  }
};

const scenario pushed("arena calls: a push while the only worker leaves", all_orders, [] {
  worker_inside it;
  it.supplier.allow_worker();
  visit pusher(it.a);
  threads({[&] { it.leave(); }, [&] { pusher.push(); }});
  it.require_asked(!it.a.spawned.empty());
});

const scenario pushed_outside("arena calls: a task from outside while the only worker leaves", all_orders, [] {
  worker_inside it;
  it.supplier.allow_worker();
  threads({[&] { it.leave(); }, [&] { it.a.submit(any_task(), work_places::no_home, 0); }});
  it.require_asked(!it.a.unaddressed.empty());
});

/// [A12] The arena has only the worker that must come for what is enqueued.
const scenario enqueued("arena calls: a task is enqueued while the mandatory worker leaves", all_orders, [] {
  worker_inside it;
  it.a.account().mandatory.store(true, sync::relaxed);
  threads({[&] { it.leave(); }, [&] { it.a.enqueue(any_task(), work_places::no_home, 0); }});
  it.require_asked(!it.a.unaddressed.empty());
  require(it.a.unaddressed.empty() || it.a.account().mandatory.load(sync::relaxed), "the worker must come");
});

/// As whoever works an arena empty: it has neither workers nor work, so nothing is left.
const scenario emptied("arena calls: a worker leaves a task, beside one that works the arena empty", all_orders, [] {
  worker_inside it;
  it.supplier.allow_worker();
  bool empty = false;
  threads({[&] {
             it.a.spawned.push();
             it.leave();
           },
           [&] { empty = !it.a.has_workers() && !it.a.has_work(no_isolation, arena::anybody); }});
  require(!empty, "the task is there, or its worker");
});

/// [A20] Of one domain, whose workers may be elsewhere for good: only the mandatory one is sure to come for the stack.
const scenario resumed("arena calls: a stack may go on while the mandatory worker leaves", all_orders, [] {
  worker_inside it(domain_index{0});
  it.a.account().mandatory.store(true, sync::relaxed);
  any_stack stack;
  threads({[&] { it.leave(); }, [&] { it.a.submit_resume(stack); }});
  it.require_asked(true);
  require(it.a.account().mandatory.load(sync::relaxed), "the worker must come");
});

// ---- [S3]: a worker was counted as searching and finds no slot

const scenario full("arena calls: a push while a worker finds no slot, and a sleeper", all_orders, [] {
  asked_for_workers supplier;
  arena& a = make_arena(supplier, 2, 1);
  visit pusher(a);
  visit sleeping(a);
  sleeper me(sleeping.me);
  a.asleep().add(me);
  thread_state w;
  a.add_reference();
  a.account().busy.store(true, sync::relaxed);
  a.account().workers.store(1, sync::relaxed);
  a.domain(domain_index{0}).active.store(1, sync::relaxed);
  a.search().transfer_to(w.domain, {});
  threads({[&] {
             require(a.admit_worker(w) == no_slot, "two are inside");
             a.drop_reference();
           },
           [&] { pusher.push(); }});
  require(a.asleep().remove(me), "the one that sleeps inside was called");
});

// ---- [A20]: a stack that may go on, in an arena that no worker may come to

const scenario deserted("arena calls: a stack may go on while the last thread leaves", all_orders, [] {
  asked_for_workers supplier;
  arena& a = make_arena(supplier, 2, 1);
  visit inside(a);
  any_stack stack;
  threads({[&] { inside.leave(); }, [&] { a.submit_resume(stack); }});
  require(a.account().mandatory.load(sync::relaxed) && a.account().busy.load(sync::relaxed),
          "the arena wants a worker that must come");
  require(supplier.asked.load(sync::relaxed) > 0, "it was asked for");
});

}  // namespace
