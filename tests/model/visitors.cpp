/// Visitors of an arena: it ends once, and not before the last visitor is done with it, its slot's release included,
/// whoever ends its task_arenas meanwhile. Method: executions of visitors and of threads that end task_arenas, in the
/// production arena, without workers; docs/protocols/arena.md [A4].
///
/// An arena that has ended holds no objects: any later access to one of its atomics fails.
#include <mutex>
#include <optional>

#include "arena_in_small.hpp"
#include "runtime/stack/visit_hold.hpp"

namespace homing::scheduler {

thread_state& this_thread() { std::abort(); }

}  // namespace homing::scheduler

namespace {

using namespace homing;
using namespace homing::model;
using namespace homing::scheduler;

/// Whoever ends an arena must know of all that was done in its slots.
struct slots_written final : no_workers {
  sync::plain<int> slot[3] = {0, 0, 0};
  sync::plain<int> made_by_user = 0;  ///< what a task_arena's user did there before it ended it

  void retire(arena& a) override {
    made_by_user = made_by_user + 1;
    for (sync::plain<int>& s : slot) {
      s = 0;
    }
    a.end();
  }
};

/// An arena that so many task_arenas stand for.
struct visited_arena {
  slots_written nobody;
  arena& a;

  explicit visited_arena(int users) : a(make_arena(nobody)) {
    a.add_user();
    for (int more = 1; more < users; ++more) {
      a.add_reference();
      a.add_user();
    }
  }
  void end_task_arena() { a.drop_user(after_use::caller_decides); }
};

/// A thread that may visit arenas, one inside another.
struct visitor {
  thread_state me;

  explicit visitor(giving& all) {
    me.next_record = all.newest;
    all.newest = &me;
  }

  struct stay {
    visit_hold hold;
    arena& in;
    slot_id number;

    stay(thread_state& me, arena& a, slot_id slot) : hold(me, a), in(a), number(slot) {}
    ~stay() {
      static_cast<slots_written&>(in.supplier()).slot[to_index(number)] = 1;
      in.release_slot(number);
    }
    stay(const stay&) = delete;
    stay& operator=(const stay&) = delete;
  };
  /// As arena_visit: the slot is freed, and then the hold ends.
  void come(std::optional<stay>& where, arena& a) {
    const slot_id number = a.occupy_slot(me, thread_kind::application);
    require(number != no_slot, "there is room");
    where.emplace(me, a, number);
  }
};

/// With one visit that has begun.
struct inside : visitor {
  std::optional<stay> first;

  inside(giving& all, arena& a) : visitor(all) { come(first, a); }
  void leave() { first.reset(); }
};

struct all_here {
  giving all;

  all_here() {
    giving::here = &all;
    work_places::ended = 0;
  }
  static void require_ended(int arenas) { require(work_places::ended == arenas, "each arena has ended, once"); }
};

const settings every{.sample_preemptions = 2, .sample_stale = 1, .steps = 5'000};

const scenario visitor_ends("visitors: one ends the task_arena that it is in", {}, [] {
  all_here w;
  visited_arena v(1);
  inside guest(w.all, v.a);
  v.end_task_arena();
  all_here::require_ended(0);
  guest.leave();
  all_here::require_ended(1);
});

const scenario again("visitors: one ends what is attached, and then the task_arena", {}, [] {
  all_here w;
  visited_arena v(2);
  inside guest(w.all, v.a);
  v.end_task_arena();
  v.end_task_arena();
  v.a.add_reference();
  v.a.add_user();
  v.end_task_arena();
  all_here::require_ended(0);
  guest.leave();
  all_here::require_ended(1);
});

const scenario another_ends("visitors: one leaves while another thread ends the task_arena", every, [] {
  all_here w;
  visited_arena v(1);
  inside guest(w.all, v.a);
  threads({[&] { guest.leave(); },
           [&] {
             v.nobody.made_by_user = 1;
             v.end_task_arena();
           }});
  require(v.nobody.made_by_user == 2, "all that its user did is seen by who ends it");
  all_here::require_ended(1);
});

/// The slot was freed behind the mark, so that the arena might be gone by then.
const scenario slot_freed_late("visitors, as it was: the slot is freed behind the mark",
                               {.preemptions = 2, .stale = 1, .fault = "uses an atomic that is gone"}, [] {
                                 all_here w;
                                 visited_arena v(1);
                                 visitor thread(w.all);
                                 const slot_id number = v.a.occupy_slot(thread.me, thread_kind::application);
                                 std::optional<visit_hold> hold;
                                 hold.emplace(thread.me, v.a);
                                 threads({[&] {
                                            hold.reset();
                                            v.a.release_slot(number);
                                          },
                                          [&] { v.end_task_arena(); }});
                               });

const scenario two_end("visitors: one leaves while two threads end their task_arenas", every, [] {
  all_here w;
  visited_arena v(2);
  inside guest(w.all, v.a);
  threads({[&] { guest.leave(); }, [&] { v.end_task_arena(); }, [&] { v.end_task_arena(); }});
  all_here::require_ended(1);
});

const scenario two_leave("visitors: two leave while another thread ends the task_arena", every, [] {
  all_here w;
  visited_arena v(1);
  inside one(w.all, v.a);
  inside other(w.all, v.a);
  threads({[&] { one.leave(); }, [&] { other.leave(); }, [&] { v.end_task_arena(); }});
  all_here::require_ended(1);
});

/// The other one has what is attached, and ends that, while it is given the first one's reference.
const scenario handed_on("visitors: one hands the arena on to another, who ends what is attached", every, [] {
  all_here w;
  visited_arena v(1);
  inside other(w.all, v.a);
  inside first(w.all, v.a);
  v.end_task_arena();  // the first one's now
  threads({[&] { first.leave(); },
           [&] {
             v.a.add_reference();
             v.a.add_user();
             v.end_task_arena();
             other.leave();
           }});
  all_here::require_ended(1);
});

/// The first visitors of an arena, which knows one alone.
const scenario both_come("visitors: two come at once, and each ends a task_arena", every, [] {
  all_here w;
  visited_arena v(2);
  visitor guests[] = {visitor(w.all), visitor(w.all)};
  const auto visit = [&](visitor& guest) {
    std::optional<visitor::stay> stay;
    guest.come(stay, v.a);
    v.end_task_arena();
  };
  threads({[&] { visit(guests[0]); }, [&] { visit(guests[1]); }});
  all_here::require_ended(1);
});

/// The gift may be found late, in the second visit, which has a user of its own.
const scenario comes_again("visitors: one leaves and comes again, while a task_arena ends", every, [] {
  all_here w;
  visited_arena v(2);
  inside guest(w.all, v.a);
  threads({[&] {
             guest.leave();
             guest.come(guest.first, v.a);
             v.end_task_arena();
             guest.leave();
           },
           [&] { v.end_task_arena(); }});
  all_here::require_ended(1);
});

/// So it may in a visit to another arena.
const scenario goes_on("visitors: one leaves for another arena, while both end", every, [] {
  all_here w;
  visited_arena v(1);
  visited_arena next(1);
  inside guest(w.all, v.a);
  work_places::ended = 0;
  threads({[&] {
             guest.leave();
             guest.come(guest.first, next.a);
             next.end_task_arena();
             guest.leave();
           },
           [&] { v.end_task_arena(); }});
  all_here::require_ended(2);
});

const scenario nested("visitors: one inside two arenas leaves, while both end", every, [] {
  all_here w;
  visited_arena outer(1);
  visited_arena inner(1);
  inside guest(w.all, outer.a);
  std::optional<visitor::stay> second;
  guest.come(second, inner.a);
  work_places::ended = 0;
  threads({[&] {
             second.reset();
             guest.leave();
           },
           [&] {
             inner.end_task_arena();
             outer.end_task_arena();
           }});
  all_here::require_ended(2);
});

}  // namespace
