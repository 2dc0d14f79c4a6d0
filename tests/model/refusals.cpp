/// The system refuses to make a thread, and does no more: whatever has been pushed by then, in whichever arena, has a
/// worker. Method: executions of application threads in the production manager and arena; docs/protocols/arena.md
/// [A15], sleep.md [S7].
///
/// Work is a count (doors_workers/). An execution is over when everybody has ended or sleeps.
#include "workers_in_small.hpp"

namespace {

constexpr std::int64_t when_it_is_over_ns = 10'000'000;
const settings bounds = {.preemptions = 2, .sample_preemptions = 1, .stale = 2, .sample_stale = 1, .steps = 10'000};

void refuse_once(world& w) { w.at_home.refusals.store(1, sync::relaxed); }

/// As one that waits: it sleeps until the refusal is over, and asks again.
void rest_in(world& w) {
  sync::parker rests;
  while (!w.manager->park(rests)) {
  }
}

void require_worker(world& w) {
  require(w.at_home.beds_taken.load(sync::relaxed) == 1, "there is a worker for what was pushed");
}

/// [A15] [S7] Who calls is refused a thread, and has the only place. Whoever ends the refusal finds it taken.
const scenario refused("refusals: a refusal ends beside a call that was refused", bounds, [] {
  world w(2);
  refuse_once(w);
  arena& b = w.make(2);
  arena& a = w.make(2, 0);
  visit in_b(b);
  in_b.push();
  require(b.spawned.take(), "its maker runs the task itself");
  visit in_a(a);
  set_time(when_it_is_over_ns);
  threads_until_settled({[&] { in_a.push(); }, [&] { rest_in(w); }});
  require_worker(w);
});

/// The first arena has the only share, and was refused a worker for its task.
struct two_arenas {
  world w{2};
  arena& b;
  visit in_b;
  arena& a;
  visit in_a;

  two_arenas() : b(make_first(w)), in_b(b), a(push_and_make_second()), in_a(a) {}

 private:
  static arena& make_first(world& w) {
    refuse_once(w);
    return w.make(2);
  }
  arena& push_and_make_second() {
    in_b.push();
    return w.make(2);
  }
};

/// [A15] What was refused a worker lies in one arena. The refusal ends at a push in another, where nothing is left.
const scenario refused_elsewhere("refusals: a refusal ends at a push in another arena", bounds, [] {
  two_arenas two;
  const auto push_and_take = [&] {
    two.in_a.push();
    static_cast<void>(two.a.spawned.take());
  };
  for (int i = 0; i < 8; ++i) {
    push_and_take();  // the clock is read at one push in eight, after the first, which makes the arena busy
  }
  set_time(when_it_is_over_ns);
  threads_until_settled({[&] { two.in_a.push(); }, [&] { static_cast<void>(two.a.spawned.take()); }});
  require_worker(two.w);
});

/// [A15] Who pushes passes a light fence only, and sees nobody who could come.
const scenario refused_beside("refusals: a refusal ends beside a push", bounds, [] {
  world w(2);
  refuse_once(w);
  arena& a = w.make(2);
  visit in_a(a);
  in_a.push();
  require(a.spawned.take(), "its maker runs the first task itself");
  set_time(when_it_is_over_ns);
  threads_until_settled({[&] { in_a.push(); }, [&] { rest_in(w); }});
  require_worker(w);
});

/// [A15] The first arena has the only share, and needs it no more when the refusal ends.
const scenario refused_newcomer("refusals: an arena comes during a refusal", bounds, [] {
  two_arenas two;
  two.in_a.push();
  require(two.b.spawned.take(), "its maker runs the task itself");
  set_time(when_it_is_over_ns);
  threads_until_settled({[&] { rest_in(two.w); }});
  require_worker(two.w);
});

}  // namespace
