/// Workers between arenas: what was pushed is run though the worker that could run it sleeps, moves or comes too late,
/// and an arena ends once, when nobody uses it any more. Method: executions of application threads and of workers, in
/// the production manager and arena; docs/protocols/arena.md, sleep.md [S7], [S18].
///
/// Work is a count (doors_workers/), the machine has one or two domains, and a worker looks once before it leaves. An
/// execution is over when everybody has ended or sleeps: then nothing may be left.
#include "workers_in_small.hpp"

namespace {

// ---- what threads do

void rest_until_called_0() { here->beds[0].lie(); }
void rest_until_called_1() { here->beds[1].lie(); }

/// Pushes a task inside, leaves it to others, and goes for good.
void push_and_go(arena& a) {
  visit v(a);
  v.push();
  v.leave();
  a.drop_reference();
}

settings bounds(unsigned preemptions, unsigned stale, bool in_sample = true) {
  return {.preemptions = preemptions,
          .sample_preemptions = 1,
          .stale = stale,
          .sample_stale = 1,
          .steps = 10'000,
          .in_sample = in_sample};
}

/// A larger model: threads take turns, with one preemption; and none, with stale reads.
struct each_alone {
  scenario turns;
  scenario stale;

  each_alone(const char* name, void (*body)(), bool in_sample = true)
      : turns(name, bounds(1, 0, false), body), stale(name, bounds(0, 2, in_sample), body) {}
};

// ---- [A3], [A4], [A5], [A14]: one arena

const scenario left_behind("workers: a task is left in an arena that nobody refers to", bounds(2, 1), [] {
  world w(2);
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0, [&] { push_and_go(a); }});
  w.require_done(1);
  w.require_ended();
});

const scenario left_by_one("workers: a task is left in an arena of one thread", bounds(2, 1), [] {
  world w(2);
  arena& a = w.make(1);
  threads_until_settled({rest_until_called_0, [&] { push_and_go(a); }});
  w.require_done(1);
  w.require_ended();
});

/// The worker leaves while the second task comes: the share that it had is kept.
const scenario twice("workers: a second task while the worker leaves", bounds(2, 1), [] {
  world w(2);
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0, [&] {
                           visit v(a);
                           v.push();
                           v.push();
                           v.leave();
                           a.drop_reference();
                         }});
  w.require_done(2);
  w.require_ended();
});

const scenario enqueued("workers: a task is enqueued, and its maker goes", bounds(2, 1), [] {
  world w(2);
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0, [&] {
                           a.enqueue(any_task(), work_places::no_home, 0);
                           a.drop_reference();
                         }});
  w.require_done(1);
  w.require_ended();
});

const scenario enqueued_end("workers: an enqueued task ends the arena", bounds(2, 1), [] {
  world w(2);
  arena& a = w.make(2);
  w.at_home.ended_by_task = &a;
  threads_until_settled({rest_until_called_0, [&] { a.enqueue(any_task(), work_places::no_home, 0); }});
  w.require_done(1);
  w.require_ended();
});

// ---- [A9], [A22]: several arenas

const each_alone two_arenas("workers: two arenas, one worker", [] {
  world w(2);
  arena& a = w.make(2);
  arena& b = w.make(2);
  threads_until_settled({rest_until_called_0, [&] { push_and_go(a); }, [&] { push_and_go(b); }});
  w.require_done(2);
  w.require_ended();
});

/// [A25] Who makes the worker for the first arena may have to call one for the second, which has been allotted its
/// place.
const each_alone two_priorities("workers: two arenas of different priorities, one worker", [] {
  world w(2);
  arena& a = w.make(2);
  arena& b = w.make(2, 0);
  threads_until_settled({rest_until_called_0, [&] { push_and_go(a); },
                         [&] {
                           visit v(b);
                           v.push();
                           v.leave();
                         }});
  b.drop_reference();
  w.require_done(2);
  w.require_ended();
});

const each_alone one_after_another("workers: two arenas, one after the other", [] {
  world w(2);
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0, [&] {
                           push_and_go(a);
                           push_and_go(w.make(2));
                         }});
  w.require_done(2);
  w.require_ended();
});

/// [A10] It goes to the second, whose task ends when the first one's has been run.
const scenario wanted_twice("workers: a worker that leaves is wanted in two arenas, another is idle",
                            bounds(1, 0, false), [] {
                              world w(3);
                              w.at_home.holds_leaver.store(true, sync::relaxed);
                              arena& a = w.make(2);
                              arena& b = w.make(2, 0);
                              threads_until_settled({rest_until_called_0, rest_until_called_1, [&] {
                                                       a.enqueue(any_task(), work_places::no_home, 0);
                                                       w.at_home.is_leaving.park();
                                                       w.at_home.held = &b;
                                                       a.enqueue(any_task(), work_places::no_home, 0);
                                                       w.at_home.may_leave.unpark();
                                                       b.enqueue(any_task(), work_places::no_home, 0);
                                                     }});
                              w.require_done(3);
                            });

/// [S18]
const each_alone awake("workers: a worker waits awake between two arenas", [] {
  world w(2);
  w.at_home.awake = std::chrono::nanoseconds(1);
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0, [&] {
                           push_and_go(a);
                           push_and_go(w.make(2));
                         }});
  w.require_done(2);
  w.require_ended();
});

// ---- [A12], [A13]: limits and leases

const scenario raised("workers: a limit is raised beside a push", bounds(2, 1), [] {
  world w(1);
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0, [&] { push_and_go(a); },
                         [&] {
                           w.at_home.parallelism.store(2, sync::relaxed);
                           w.manager->obey_limit(resource_manager::machine_is::the_same);
                         }});
  w.require_done(1);
  w.require_ended();
});

/// [A25] The only worker that is allowed is on its way to another arena, and this one has the whole share: who pushes
/// here finds without the lock that all are there. Then one more may be made. Whoever raises the limit calls for this
/// arena, whose share stays as it was; or finds its place taken by the one that looks, who looks again. No arena is
/// retired, which would be another call.
const scenario raised_full("workers: a limit is raised beside a look without the lock",
                           {.preemptions = 2, .sample_preemptions = 2, .stale = 2, .sample_stale = 0, .steps = 10'000},
                           [] {
                             world w(2);
                             arena& b = w.make(2);
                             arena& a = w.make(2, 0);
                             visit in_b(b);
                             in_b.push();
                             in_b.leave();
                             require(w.at_home.beds_taken.load(sync::relaxed) == 1,
                                     "the only worker is another arena's");
                             visit in_a(a);
                             threads({[&] { in_a.push(); },
                                      [&] {
                                        w.at_home.parallelism.store(3, sync::relaxed);
                                        w.manager->obey_limit(resource_manager::machine_is::the_same);
                                      }});
                             require(w.at_home.beds_taken.load(sync::relaxed) == 2,
                                     "a second worker has been made for what was pushed");
                           });

const scenario lowered("workers: a limit is lowered beside an enqueue", bounds(2, 1), [] {
  world w(2);
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0,
                         [&] {
                           a.enqueue(any_task(), work_places::no_home, 0);
                           a.drop_reference();
                         },
                         [&] {
                           w.at_home.parallelism.store(1, sync::relaxed);
                           w.manager->obey_limit(resource_manager::machine_is::the_same);
                         }});
  w.require_done(1);
  w.require_ended();
});

const each_alone leased("workers: all are leased beside an enqueue", [] {
  world w(2);
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0,
                         [&] {
                           a.enqueue(any_task(), work_places::no_home, 0);
                           a.drop_reference();
                         },
                         [&] {
                           const auto [number, workers] =
                               w.manager->take_lease({.workers_max = 1, .domains = {true}}, {});
                           require(workers[0] <= 1, "no more than there are");
                         }});
  w.require_done(1);
  w.require_ended();
});

const each_alone given_back("workers: a lease ends beside a push", [] {
  world w(2);
  const std::uint64_t number = w.manager->take_lease({.workers_max = 1, .domains = {true}}, {}).first;
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0, [&] { push_and_go(a); }, [&] { w.manager->end_lease(number); }});
  w.require_done(1);
  w.require_ended();
});

// ---- [A18]

const each_alone stopped("workers: they are stopped beside a push", [] {
  world w(2);
  arena& a = w.make(2);
  threads_until_settled(
      {rest_until_called_0, rest_until_called_1, [&] { push_and_go(a); }, [&] { w.manager->stop_workers(); }});
  w.require_done(1);
  w.require_ended();
});

const each_alone finalized("workers: somebody waits until no arena is left", [] {
  world w(2);
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0,
                         [&] {
                           a.enqueue(any_task(), work_places::no_home, 0);
                           a.drop_reference();
                         },
                         [&] { require(w.manager->wait_until_unused(), "no user refers to it"); }});
  w.require_done(1);
  w.require_ended();
});

// ---- [A22]: an application thread is inside, and threads share no CPU. One allotment, in one thread.

/// A worker that is there, without a thread.
struct worker_inside {
  thread_state me;

  explicit worker_inside(arena& a) {
    a.add_reference();
    a.account().workers.fetch_add(1, sync::relaxed);
    a.domain(domain_index{0}).active.fetch_add(1, sync::relaxed);
    const slot_id number = a.occupy_slot(me, thread_kind::worker);
    require(number != no_slot, "there is room");
    stay_in(me, a, number);
  }
  /// `since_ns`: as if it had begun then.
  void search(std::int64_t since_ns) {
    me.in->search().enter(me, {});
    me.slot->searches_since_ns.store(since_ns, sync::relaxed);
  }
};

constexpr std::int64_t long_ago_ns = -1'000'000'000;  // the model's clock stands at 0
constexpr std::int64_t just_now_ns = 0;

void want_workers(world& w, arena& a) {
  a.account().busy.store(true, sync::seq_cst);
  static_cast<void>(w.manager->list_newcomer(a));
}
int share_of(arena& a) { return a.account().allotted.load(sync::relaxed); }

/// Two arenas with a worker each, of which the first has run out of tasks, and the second has more.
void allot_to_two(std::int64_t searches_since_ns, int first_share, int second_share, unsigned own_cpus = 8) {
  world w(3, 1, own_cpus);
  arena& a = w.make(3);
  arena& b = w.make(3);
  const visit inside(a);
  worker_inside of_a(a);
  const worker_inside of_b(b);
  of_a.search(searches_since_ns);
  b.spawned.push();
  want_workers(w, a);
  want_workers(w, b);
  w.manager->demand_changed();
  require(share_of(a) == first_share && share_of(b) == second_share, "each has the share that it is to have");
}

const scenario dry_just_now("workers: who ran dry just now stays", {}, [] { allot_to_two(just_now_ns, 1, 1); });
const scenario dry_for_long("workers: who ran dry long ago may go", {}, [] { allot_to_two(long_ago_ns, 0, 2); });
const scenario shared_cpus("workers: who ran dry just now may go where threads share CPUs", {},
                           [] { allot_to_two(just_now_ns, 0, 2, 2); });

/// The one worker looks for work in the first arena; the second has work, and none.
void allot_to_who_has_none(unsigned second_level) {
  world w(2, 1, 8);
  arena& a = w.make(3);
  arena& b = w.make(3, second_level);
  const visit inside(a);
  worker_inside of_a(a);
  of_a.search(just_now_ns);
  b.spawned.push();
  want_workers(w, b);
  want_workers(w, a);  // the newest is served first
  w.manager->demand_changed();
  require(share_of(a) == 0 && share_of(b) == 1, "who has work and no worker gets the one that has none to do");
}

const scenario has_none("workers: who ran dry just now may go to an arena that has none", {},
                        [] { allot_to_who_has_none(1); });
const scenario low_has_none("workers: the same, to one of a lower priority", {}, [] { allot_to_who_has_none(2); });

// ---- [A28]; who is the ender is library_users.cpp's: arenas have no users here, only references

const each_alone ended("workers: those that idle are ended beside a push", [] {
  world w(2);
  arena& a = w.make(2);
  threads_until_settled({rest_until_called_0, rest_until_called_1,
                         [&] {
                           push_and_go(a);
                           push_and_go(w.make(2));
                         },
                         [&] { w.manager->end_idle_workers(0); }});
  w.require_done(2);
  w.require_ended();
});

/// A worker has a task that ends when another one has been run, for which another one must be made.
constexpr const char* beside_a_wait = "workers: those that idle are ended beside a task that waits for another one";
const settings without_preemptions{
    .preemptions = 0, .sample_preemptions = 0, .stale = 1, .sample_stale = 0, .steps = 10'000};
const scenario one_needs_another(beside_a_wait, without_preemptions, [] {
  world w(3);
  arena& a = w.make(2);
  arena& b = w.make(2);
  w.at_home.held = &b;
  sync::parker begins;
  threads_until_settled({rest_until_called_0, rest_until_called_1,
                         [&] {
                           push_and_go(b);
                           w.at_home.has_begun.park();
                           begins.unpark();
                           w.manager->end_idle_workers(0);
                         },
                         [&] {
                           begins.park();
                           push_and_go(a);
                         }});
  w.require_done(2);
  w.require_ended();
});

// ---- [A10], [S7]: domains and several workers

void two_tasks(unsigned domains) {
  world w(3, domains);
  arena& a = w.make(3);
  threads_until_settled({rest_until_called_0, rest_until_called_1, [&] {
                           visit v(a);
                           v.push();
                           v.push();
                           v.leave();
                           a.drop_reference();
                         }});
  w.require_done(2);
  w.require_ended();
}

const each_alone two_workers("workers: two tasks, two workers of one domain", [] { two_tasks(1); });
const each_alone two_workers_apart("workers: two tasks, a worker in each of two domains", [] { two_tasks(2); });

// ---- [A26]

/// The only worker of domain 1 stays in an arena while its share has gone to one of a higher priority.
void stand_in(bool other_rests) {
  world w(3, 2);
  arena& b = w.make(2, 1, domain_index{1});
  arena& a = w.make(2, 0, domain_index{1});
  w.at_home.held = &b;
  threads_until_settled({rest_until_called_0, rest_until_called_1, [&, other_rests] {
                           if (other_rests) {
                             push_and_go(w.make(2, 1, domain_index{0}));
                           }
                           push_and_go(b);
                           w.at_home.has_begun.park();
                           push_and_go(a);
                         }});
  w.require_done(other_rests ? 3 : 2);
  w.require_ended();
}

const each_alone stand_in_made("workers: one that has yet to be made stands in", [] { stand_in(false); });
const each_alone stand_in_called(
    "workers: one that rests, or is about to, stands in", [] { stand_in(true); }, false);

/// Both workers of domain 1 are on their way to another arena, for good. Whoever has this arena's first worker made
/// reserves a place of domain 1 ahead of need, and nobody can be made for it. Meanwhile that first worker has taken the
/// task, and the next call finds all places taken. So it is for the one that gives the place back to call a stand-in.
const scenario made_ahead("workers: a place is reserved ahead of need beside a call", bounds(1, 1, false), [] {
  world w(5, 2);
  arena& b = w.make(3, 1, domain_index{1});
  arena& a = w.make(3, 0);
  visit in_b(b);
  in_b.push();
  require(w.at_home.beds_taken.load(sync::relaxed) == 2, "those of domain 1 are another arena's");
  visit in_a(a);
  w.at_home.held = &a;
  threads_until_settled({[] { here->beds[2].lie(); }, [&] { in_a.push(); },
                         [&] {
                           w.at_home.has_begun.park();
                           a.enqueue(any_task(), work_places::no_home, 0);
                         }});
  require(w.at_home.beds_taken.load(sync::relaxed) == 4, "one stands in for what was enqueued");
});

}  // namespace
