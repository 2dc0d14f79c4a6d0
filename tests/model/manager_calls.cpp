/// What the manager's own fences and orders are for, one by one: a wish is served, who needs a worker gets the one that
/// idles or that may be made, and who is called sees why. Method: executions of two threads in the production manager
/// and arena; docs/protocols/arena.md [A6], [A9], [A11], [A12], [A15], [A16], [A18], [A25], [A26], sleep.md [S1], [S7].
///
/// Two threads, so that the fence of a third does not stand in for theirs. A worker is a thread only on its way
/// from one arena to the next: what it does before is done when the threads begin.
#include "manager_in_small.hpp"

namespace {

const settings bounds = {.preemptions = 2, .sample_preemptions = 1, .stale = 1, .sample_stale = 1, .steps = 5'000};

// ---- [A6]: a wish beside who holds the lock

const scenario wish("manager calls: a wish while another thread holds the lock", bounds, [] {
  world w(2);
  arena& a = w.make(2);
  begin_to_want(a);
  threads({[&] {
             static_cast<void>(w.manager->list_newcomer(a));
             w.manager->demand_changed();
           },
           [&] { static_cast<void>(w.manager->is_idle()); }});
  require(share_of(a) == 1, "the wish was served");
});

const scenario wishes("manager calls: two wishes at once", bounds, [] {
  world w(3);
  arena& a = w.make(2);
  arena& b = w.make(2);
  const auto ask = [&](arena& of) {
    begin_to_want(of);
    static_cast<void>(w.manager->list_newcomer(of));
    w.manager->demand_changed();
  };
  threads({[&] { ask(a); }, [&] { ask(b); }});
  require(share_of(a) == 1 && share_of(b) == 1, "each wish was served");
});

// ---- [A9]: the list of who wants workers

/// It has listed itself, and its own threads have done the work meanwhile.
const scenario taken_off("manager calls: an arena wants workers again while it is taken off the list", bounds, [] {
  world w(2);
  arena& a = w.make(2);
  const auto want = [&] {
    static_cast<void>(a.account().become_busy());
    static_cast<void>(w.manager->list_newcomer(a));
  };
  want();
  a.account().busy.store(false, sync::relaxed);
  threads({[&] {
             a.spawned.push();
             want();
           },
           [&] { w.manager->demand_changed(); }});
  w.manager->demand_changed();
  require(share_of(a) == 1, "it is on the list");
});

/// All shares are another arena's, so nobody deals anew for a newcomer while no worker idles.
const scenario newcomer("manager calls: a newcomer beside the only worker that goes to rest", bounds, [] {
  world w(2);
  used_arena b(w);
  worker_in_hand it = b.have_worker_made();
  it.come_and_leave();
  used_arena a(w);
  threads_until_settled({[&] { a.user.push(); }, [&] { it.rest(); }});
  require(it.goes_to(a.a), "the newcomer has seen the worker, or was seen by it");
});

// ---- [S1], [S7]: who goes to rest, beside who calls

/// One worker is inside and has a task; the other one goes to rest.
const scenario pushed("manager calls: a push inside beside a worker that goes to rest", bounds, [] {
  world w(3);
  used_arena b(w);
  worker_in_hand rests = b.have_worker_made();
  rests.come_and_leave();
  used_arena a(w, 3);
  a.have_worker_made().come();
  threads_until_settled({[&] { a.user.push(); }, [&] { rests.rest(); }});
  require(rests.goes_to(a.a), "the pusher has seen the worker, or was seen by it");
});

/// The caller looks at the idle twice, so two stale reads.
const settings twice_stale = {.preemptions = 2, .sample_preemptions = 1, .stale = 2, .sample_stale = 2, .steps = 5'000};
const scenario given_back("manager calls: a place is given back beside a worker that goes to rest", twice_stale, [] {
  one_place it;
  threads_until_settled(
      {[&] { static_cast<void>(it.w.manager->send_worker(it.a, domain_index{0}, 1, turned_away::waits)); },
       [&] { it.rests.rest(); }});
  require(it.rests.goes_to(it.a), "the one that found the place taken is sent there");
});

/// [A9] All shares are another arena's. Nobody is in a slot, so that whoever raises the limit passes a full fence.
const scenario raised_newcomer("manager calls: a limit is raised beside a newcomer", bounds, [] {
  world w(2);
  used_arena b(w);
  static_cast<void>(b.have_worker_made());
  b.user.leave();
  arena& a = w.make(2);
  threads({[&] { a.submit(any_task(), work_places::no_home, 0); },
           [&] {
             w.at_home.parallelism.exchange(3, sync::relaxed);
             w.manager->obey_limit(resource_manager::machine_is::the_same);
           }});
  require(w.at_home.beds_taken.load(sync::relaxed) == 2, "a second worker has been made");
});

/// [A25] The only worker that is allowed is on its way to another arena. Whoever enqueues has no slot, so that whoever
/// raises the limit passes a full fence.
const scenario raised("manager calls: a limit is raised beside a call that found all workers made", bounds, [] {
  world w(2);
  used_arena b(w);
  b.user.push();
  b.user.leave();
  arena& a = w.make(2, 0);
  threads({[&] { a.enqueue(any_task(), work_places::no_home, 0); },
           [&] {
             w.at_home.parallelism.store(3, sync::relaxed);
             w.manager->obey_limit(resource_manager::machine_is::the_same);
           }});
  require(w.at_home.beds_taken.load(sync::relaxed) == 2, "a second worker has been made");
});

/// A worker of each of two domains. That of the first has a task.
struct two_domains {
  world w{3, 2};
  visit in_first{w.make(2, 1, domain_index{0})};
  worker_in_hand busy = made_for(in_first);
  visit in_second{w.make(2, 1, domain_index{1})};
  worker_in_hand rests = made_for(in_second);

  two_domains() { rests.come_and_leave(); }
  worker_in_hand made_for(visit& v) {
    v.in.enqueue(any_task(), work_places::no_home, 0);
    require(v.in.unaddressed.take(), "its maker runs the task itself");
    return worker_in_hand(w);
  }
  /// As if an allotment had given it so many of each, and in all.
  arena& make_with_shares(int of_first, int of_second, int in_all) {
    arena& a = w.make(3);
    a.spawned.push();
    a.account().busy.store(true, sync::relaxed);
    static_cast<void>(w.manager->list_newcomer(a));
    w.manager->demand_changed();
    a.domain(domain_index{0}).allotted.store(of_first, sync::relaxed);
    a.domain(domain_index{1}).allotted.store(of_second, sync::relaxed);
    a.account().allotted.store(in_all, sync::relaxed);
    return a;
  }
};

/// Both domains' shares are unfilled, and one place is left: as where a third domain has a worker beyond its share.
const scenario last_place("manager calls: the last place is given back beside a worker of another domain", bounds, [] {
  two_domains two;
  arena& a = two.make_with_shares(1, 1, 1);
  threads_until_settled(
      {[&] { static_cast<void>(two.w.manager->send_worker(a, domain_index{0}, 1, turned_away::waits)); },
       [&] { two.rests.rest(); }});
  require(two.rests.goes_to(a), "the one that found the place taken is sent there");
});

/// The arena has one worker more of the second domain than it was allotted. Then that one is allotted, too.
const scenario half("manager calls: half a place is given back beside a share that grows", bounds, [] {
  world w(3, 2);
  visit in_second(w.make(2, 1, domain_index{1}));
  in_second.in.enqueue(any_task(), work_places::no_home, 0);
  require(in_second.in.unaddressed.take(), "its maker runs the task itself");
  worker_in_hand inside(w);
  inside.come_and_leave();
  arena& a = w.make(3);
  a.add_reference();
  a.account().workers.store(1, sync::relaxed);
  a.domain(domain_index{1}).active.store(1, sync::relaxed);
  a.search().transfer_to(domain_index{1}, {});
  inside.self.assigned = &a;
  inside.come();
  begin_to_want(a);
  static_cast<void>(w.manager->list_newcomer(a));
  a.account().allotted.store(1, sync::relaxed);
  a.domain(domain_index{0}).allotted.store(1, sync::relaxed);
  threads({[&] { static_cast<void>(w.manager->send_worker(a, domain_index{0}, 2, turned_away::waits)); },
           [&] { w.manager->demand_changed(); }});
  require(w.at_home.beds_taken.load(sync::relaxed) == 2, "one of the first domain has been made");
});

// ---- [A26]: who calls in vain beside who stands by, and nobody does any more

/// Nobody is there for the first domain's place. One has taken it, and gives it back; another one has set the mark, and
/// finds nobody who could stand by.
const settings of_three = {.preemptions = 1, .sample_preemptions = 0, .stale = 1, .sample_stale = 1, .steps = 5'000};
const scenario stood_by("manager calls: two look for a stand-in beside a worker that goes to rest", of_three, [] {
  two_domains two;
  arena& a = two.w.make(2, 0, domain_index{0});
  begin_to_want(a);
  static_cast<void>(two.w.manager->list_newcomer(a));
  two.w.manager->demand_changed();
  resource_manager& manager = *two.w.manager;
  require(call(manager, reserve{}, a, domain_index{0}), "it has a place");
  two.w.at_home.parallelism.store(4, sync::relaxed);
  manager.obey_limit(resource_manager::machine_is::the_same);
  worker* const being_made = call(manager, reserve_making{}, domain_index{1});
  require(being_made != nullptr, "one more may be made, and nobody else can");
  threads_until_settled({[&] { call(manager, call_stand_in{}, domain_index{0}); },
                         [&] {
                           call(manager, unreserve{}, a, domain_index{0});
                           sync::full_fence();
                           call(manager, call_stand_in{}, domain_index{0});
                           static_cast<void>(call(manager, make_thread{}, *being_made));
                         },
                         [&] { two.rests.rest(); }});
  require(two.rests.goes_to(a), "it stands in");
});

// ---- [A11], [A12]: what is allotted beside a push

/// A worker is inside and has a task; what else it was allotted may go.
struct half_filled {
  world w{3};
  used_arena a{w, 3};
  worker_in_hand inside = a.have_worker_made();

  half_filled() {
    inside.come();
    require(share_of(a.a) == 2, "it may have another one");
  }
  void set_limit(std::size_t threads) {
    w.at_home.parallelism.store(threads, sync::relaxed);
    w.manager->obey_limit(resource_manager::machine_is::the_same);
  }
  void require_another() const {
    require(w.at_home.beds_taken.load(sync::relaxed) == 2, "another worker has been made for what was pushed");
  }
};

const scenario trimmed("manager calls: a share is trimmed beside a push", bounds, [] {
  half_filled it;
  threads({[&] { it.w.manager->demand_changed(); }, [&] { it.a.user.push(); }});
  it.require_another();
});

/// Only the thread that allots is inside.
const scenario trimmed_outside("manager calls: a share is trimmed beside a task from outside", bounds, [] {
  half_filled it;
  it.a.user.leave();
  this_thread_or_null = &it.inside.me;
  threads({[&] { it.w.manager->demand_changed(); }, [&] { it.a.a.submit(any_task(), work_places::no_home, 0); }});
  it.require_another();
});

/// A worker is inside though none is allowed any more; then two are.
struct limited : half_filled {
  limited() {
    w.manager->demand_changed();
    require(share_of(a.a) == 1, "its share is trimmed");
    set_limit(1);
    require(share_of(a.a) == 0, "none is allowed");
  }
};

const scenario allowed("manager calls: workers are allowed beside a push", bounds, [] {
  limited it;
  threads({[&] { it.set_limit(3); }, [&] { it.a.user.push(); }});
  it.require_another();
});

/// [A12] Its share is less than it had use for, since no more was allowed. Then more is, and nothing is allotted.
const scenario shares_left("manager calls: more workers are allowed beside a push, and shares are left as they are",
                           bounds, [] {
                             half_filled it;
                             it.set_limit(2);
                             it.a.user.push();
                             it.w.manager->demand_changed();
                             require(share_of(it.a.a) == 1 && !it.a.a.account().trimmed.load(sync::relaxed),
                                     "one is allowed, and it could use two");
                             require(it.a.a.spawned.take(), "its maker runs the task itself");
                             // Somebody has called in vain since: only who has a trimmed share asks each time.
                             it.a.a.account().starved.store(1, sync::relaxed);
                             threads({[&] { it.set_limit(3); }, [&] { it.a.user.push(); }});
                             it.require_another();
                           });

const scenario allowed_outside("manager calls: workers are allowed beside a task from outside", bounds, [] {
  limited it;
  it.a.user.leave();
  this_thread_or_null = &it.inside.me;
  threads({[&] { it.set_limit(3); }, [&] { it.a.a.submit(any_task(), work_places::no_home, 0); }});
  it.require_another();
});

/// [A3] The arena wants workers still, and has none.
const scenario allowed_empty("manager calls: workers are allowed beside a push in an arena that has none", bounds, [] {
  limited it;
  it.inside.leave();
  it.a.user.push();
  require(it.a.a.spawned.take(), "its maker runs the task itself");
  require(it.a.a.account().busy.load(sync::relaxed), "it wants workers");
  threads({[&] { it.set_limit(3); }, [&] { it.a.user.push(); }});
  it.require_another();
});

/// [A3] The worker leaves the arena as it is, and looks for work before it sleeps.
template <typename Other>
void leave_beside(Other other) {
  limited it;
  threads_until_settled({[&] {
                           it.inside.leave();
                           it.inside.rest();
                         },
                         [&] { other(it); }});
  require(it.inside.goes_to(it.a.a), "it comes back, or is sent there");
}

const scenario left_then_pushed("manager calls: the last worker leaves under a limit that ends, and a push follows",
                                bounds, [] {
                                  leave_beside([](limited& it) {
                                    it.set_limit(2);
                                    it.a.user.push();
                                  });
                                });
const scenario left_behind_push("manager calls: the same, behind a push", bounds, [] {
  leave_beside([](limited& it) {
    it.a.user.push();
    it.set_limit(2);
  });
});

// ---- [A15]: a refusal beside who goes to sleep in a wait

const settings twice_preempted = {
    .preemptions = 2, .sample_preemptions = 2, .stale = 1, .sample_stale = 1, .steps = 5'000};
const scenario refused("manager calls: a thread is refused beside one that goes to sleep", twice_preempted, [] {
  world w(2);
  used_arena a(w);
  used_arena b(w);
  w.at_home.refusals.store(1, sync::relaxed);
  bool looks = false;
  threads_until_settled({[&] { a.user.push(); },
                         [&] {
                           sleeper s(b.user.me);
                           b.a.asleep().add(s);
                           sync::heavy_fence();
                           looks = true;
                           if (!w.manager->is_refused()) {
                             looks = false;
                             b.user.me.parker.park();
                             looks = true;
                           }
                           static_cast<void>(b.a.asleep().remove(s));
                         }});
  require(looks, "who sleeps without end was called, or saw the refusal");
});

// ---- [A16]: two call for the same arena

/// The first has nobody to send when it takes the arena off its list; the second allows one more.
const scenario called_twice("manager calls: two call for an arena whose share grows meanwhile", bounds, [] {
  world w(2);
  used_arena a(w, 3);
  worker_in_hand inside = a.have_worker_made();
  inside.come();
  a.a.spawned.push();
  threads({[&] { w.manager->obey_limit(resource_manager::machine_is::another); },
           [&] {
             w.at_home.parallelism.exchange(3, sync::relaxed);  // a point of choice: the other thread may be first
             w.manager->obey_limit(resource_manager::machine_is::the_same);
           }});
  require(w.at_home.beds_taken.load(sync::relaxed) == 2, "another worker has been made");
});

// ---- [A18]: workers are stopped beside one that goes to rest

const scenario stopped("manager calls: workers are stopped beside one that goes to rest", bounds, [] {
  world w(2);
  used_arena b(w);
  worker_in_hand it = b.have_worker_made();
  it.come_and_leave();
  threads({[&] { w.manager->stop_workers(); },
           [&] {
             it.rest();
             here->beds[0].ended.unpark();
           }});
  require(it.sent_to == nullptr, "it ends");
});

// ---- the manager itself

const scenario first_use("manager calls: two threads make the manager, and one looks for it", bounds, [] {
  house at_home;
  here = &at_home;
  domains_of_machine = 1;
  resource_manager* made[2] = {};
  const auto make = [&](int i) {
    made[i] = &resource_manager::current();
    require(made[i]->is_idle(), "it is new");
  };
  threads({[&] { make(0); }, [&] { make(1); },
           [&] {
             if (resource_manager* const m = resource_manager::current_or_null()) {
               require(m->is_idle(), "it is new");
             }
           }});
  require(made[0] == made[1], "there is one");
});

// ---- [S7] once more: the largest, so the last

/// One more may be made when the call begins, and is made for another arena. The one that rests finds the place taken.
const scenario made_elsewhere(
    "manager calls: none is left to be made ahead of need, beside a worker that goes to rest",
    {.preemptions = 3, .sample_preemptions = 1, .stale = 1, .sample_stale = 1, .steps = 5'000}, [] {
      one_place it;
      arena& a = it.a;
      const auto have_worker = [&](int number) {
        a.account().workers.store(number, sync::relaxed);
        a.domain(domain_index{0}).active.store(number, sync::relaxed);
      };
      have_worker(1);
      require(a.spawned.take(), "it takes the task, and leaves when one more is allowed");
      it.w.at_home.parallelism.store(3, sync::relaxed);
      it.w.manager->obey_limit(resource_manager::machine_is::the_same);
      have_worker(0);
      a.spawned.push();
      require(share_of(a) == 1 && it.w.at_home.beds_taken.load(sync::relaxed) == 1, "nobody was called");
      it.first.a.account().allotted.store(1, sync::relaxed);
      it.first.a.domain(domain_index{0}).allotted.store(1, sync::relaxed);
      const auto make = [&](arena& of) { static_cast<void>(it.w.manager->make_worker(of, domain_index{0})); };
      threads_until_settled({[&] { make(a); },
                             [&] {
                               make(it.first.a);
                               it.rests.rest();
                             }});
      require(it.rests.goes_to(a) || a.account().workers.load(sync::relaxed) == 1, "somebody is sent there");
    });

}  // namespace
