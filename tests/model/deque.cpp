/// Deque: each entry reaches exactly one taker, whole, and none stays hidden. Method: every execution of an owner and
/// thieves on an array of two entries; docs/protocols/deque.md.
#include <array>

#include "engine/model.hpp"
#include "sync/work_deque.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using sync::deque_item;
using sync::relaxed;
using sync::work_deque;

constexpr auto all = [](std::uint64_t) { return true; };
constexpr auto odd = [](std::uint64_t tag) { return tag % 2 == 1; };

/// What an item points to: made by the owner, used up by whoever takes it.
struct job {
  sync::plain<int> is_made = 0;
  sync::plain<int> times_taken = 0;
};

template <std::size_t Jobs>
struct table {
  work_deque deque;
  job jobs[Jobs];

  void push(std::size_t i) {
    jobs[i].is_made = 1;
    deque.push(reinterpret_cast<std::uintptr_t>(&jobs[i]), i);
  }
  bool take(deque_item got) {
    if (got.item == 0) {
      return false;
    }
    auto& j = *reinterpret_cast<job*>(got.item);
    require(j.is_made == 1, "a taker sees what its item points to");
    ++j.times_taken;
    return true;
  }
  bool pop() { return take(deque.pop(all)); }
  bool steal() { return take(deque.steal(all)); }

  /// When all threads have stopped: what is left is found by a thief, and everything was taken once.
  void check(std::size_t pushed) {
    while (steal()) {
    }
    for (std::size_t i = 0; i < pushed; ++i) {
      require(jobs[i].times_taken == 1, "each entry reaches exactly one taker, and none is hidden");
    }
  }
};

/// [D2] A thief that reads a tail that was popped back sees the entries below it.
const scenario left_below("deque: an entry below what was popped", {}, [] {
  table<2> t;
  threads({[&] {
             t.push(0);
             t.push(1);
             t.pop();
           },
           [&] { t.steal(); }});
  t.check(2);
});

/// A look at an entry that is there sees its tag, and its array, also where that is new.
const scenario looked("deque: a look at a tag", {}, [] {
  work_deque deque;
  threads({[&] { deque.push(8, 1); },
           [&] { require(!deque.has([](std::uint64_t tag) { return tag != 1; }), "the tag is the item's"); }});
  require(deque.has(all), "it is there");
});

const scenario one_entry("deque: one entry, its owner and two thieves", {.sample_preemptions = 1}, [] {
  table<1> t;
  threads({[&] {
             t.push(0);
             t.pop();
           },
           [&] { t.steal(); }, [&] { t.steal(); }});
  t.check(1);
});

const scenario two_entries("deque: two entries, pop and steal", {.sample_preemptions = 2}, [] {
  table<2> t;
  threads({[&] {
             t.push(0);
             t.push(1);
             t.pop();
             t.pop();
           },
           [&] {
             t.steal();
             t.steal();
           }});
  t.check(2);
});

/// [D11] A thief that takes two at once, beside the owner and another thief.
std::size_t steal_two(table<3>& t) {
  std::array<deque_item, 2> got;
  const std::size_t count = t.deque.steal_some(got, 1, all);
  require(count < 2 || got[0].tag < got[1].tag, "the oldest comes first");
  for (std::size_t i = 0; i < count; ++i) {
    t.take(got[i]);
  }
  return count;
}

enum class other_thief { none, one };

// Beside another thief the owner's last pop is left to the check: with it there are too many executions.
template <other_thief Other>
void two_for_one_thief() {
  table<3> t;
  t.push(0);
  t.push(1);
  const auto owner = [&] {
    t.pop();
    t.push(2);
    if (Other == other_thief::none) {
      t.pop();
    }
  };
  const auto thief = [&] { steal_two(t); };
  if constexpr (Other == other_thief::none) {
    threads({owner, thief});
  } else {
    threads({owner, thief, [&] { t.steal(); }});
  }
  t.check(3);
}
const scenario two_at_once("deque: two entries for one thief at once", {.sample_preemptions = 2},
                           two_for_one_thief<other_thief::none>);
const scenario two_at_once_and_one("deque: two entries for one thief at once, beside another",
                                   {.preemptions = 2, .in_sample = false}, two_for_one_thief<other_thief::one>);

/// [S1], [S2]: a sleeper before its last look, and whoever may have to call it.
struct sleep_protocol {
  sync::atomic<int> asleep = 0;

  void announce() {
    asleep.store(1, relaxed);
    sync::heavy_fence();
  }
  bool must_call() {
    sync::light_fence();
    return asleep.load(relaxed) == 1;
  }
};

/// [D11] with S1 and S2: what a thief has in hand for a moment is seen by a sleeper's last look, or somebody is called.
const scenario in_hand("deque: a sleeper beside a thief that takes two at once", {.sample_preemptions = 2}, [] {
  work_deque victims;
  work_deque thiefs;
  sleep_protocol sleep;
  bool called = false;
  bool found = false;
  victims.push(8, 0);
  victims.push(16, 1);
  threads({[&] {
             std::array<deque_item, 2> got;
             if (victims.steal_some(got, 1, all) == 2) {
               thiefs.push(got[1].item, got[1].tag);
               called = sleep.must_call();
             }
           },
           [&] {
             sleep.announce();
             found = victims.has(all) || thiefs.has(all);
           }});
  require(called || found, "the second one is in sight, or somebody is called for it");
});

/// The owner pops to an index and pushes there again while a thief moves head above it: [D3], [D9].
const scenario again("deque: pop and push again under a thief", {}, [] {
  table<2> t;
  t.push(0);
  threads({[&] {
             t.pop();
             t.push(1);
           },
           [&] { t.steal(); }});
  t.check(2);
});

/// The same item again, of which a thief may have seen the first time.
const scenario same_item("deque: an item that is popped and pushed again", {}, [] {
  table<1> t;
  threads({[&] {
             t.push(0);
             if (t.pop()) {
               t.jobs[0].times_taken = 0;
               t.push(0);
             }
           },
           [&] { t.steal(); }});
  t.check(1);
});

const scenario again_two("deque: pop and push again under two thieves", {.sample_preemptions = 1}, [] {
  table<2> t;
  t.push(0);
  threads({[&] {
             t.pop();
             t.push(1);
           },
           [&] { t.steal(); }, [&] { t.steal(); }});
  t.check(2);
});

const scenario reset("deque: both ends back to 0, and a push", {}, [] {
  table<3> t;
  t.push(0);
  threads({[&] {
             t.pop();
             t.pop();
             t.push(1);
             t.pop();
             t.push(2);
           },
           [&] { t.steal(); }});
  t.check(3);
});

/// [D8] The third entry needs a larger array.
const scenario growth("deque: growth under a thief", {}, [] {
  table<3> t;
  t.push(0);
  t.push(1);
  threads({[&] { t.push(2); },
           [&] {
             t.steal();
             t.steal();
           }});
  t.check(3);
});

const scenario growth_two("deque: growth under two thieves", {.preemptions = 1, .in_sample = false}, [] {
  table<3> t;
  t.push(0);
  t.push(1);
  threads({[&] { t.push(2); }, [&] { t.steal(); }, [&] { t.steal(); }});
  t.check(3);
});

/// [D8] Less than half of the array is live: the entry moves down in it.
const scenario in_place("deque: an entry moves in its array under a thief", {.sample_preemptions = 2}, [] {
  table<5> t;
  for (std::size_t i = 0; i < 3; ++i) {
    t.push(i);
  }
  while (t.steal()) {
  }
  threads({[&] {
             t.push(3);
             t.push(4);
           },
           [&] { t.steal(); }});
  t.check(5);
});

/// [D12] A thief takes the oldest, or none: also while the owner moves the entries to a larger array ...
template <std::size_t Jobs>
void steal_only(table<Jobs>& t, std::uint64_t oldest) {
  const deque_item got = t.deque.steal(all);
  require(got.item == 0 || got.tag == oldest, "no thief passes the oldest entry over");
  t.take(got);
}
const scenario oldest_in_growth("deque: the oldest entry, and growth under a thief", {}, [] {
  table<3> t;
  t.push(0);
  t.push(1);
  threads({[&] { t.push(2); }, [&] { steal_only(t, 0); }});
  t.check(3);
});

/// ... or down in their array ...
const scenario oldest_in_place("deque: the oldest entry of two that move in their array under a thief",
                               {.sample_preemptions = 2}, [] {
                                 table<9> t;
                                 for (std::size_t i = 0; i < 8; ++i) {
                                   t.push(i);
                                 }
                                 for (std::size_t i = 0; i < 6; ++i) {
                                   t.steal();
                                 }
                                 threads({[&] { t.push(8); }, [&] { steal_only(t, 6); }});
                                 t.check(9);
                               });

/// ... or pushes where it has popped.
template <bool All>
void pop_and_push_two() {
  table<4> t;
  t.push(0);
  t.push(1);
  threads({[&] {
             t.pop();
             t.pop();
             if (All) {
               t.pop();  // both ends go back
             }
             t.push(2);
             t.push(3);
           },
           [&] {
             const deque_item got = t.deque.steal(all);
             require(got.item == 0 || got.tag != 3, "no thief passes the oldest entry over");
             t.take(got);
           }});
  t.check(4);
}
const scenario oldest_again("deque: the oldest entry, where two were popped", {.sample_preemptions = 2},
                            pop_and_push_two<false>);
const scenario oldest_reset("deque: the oldest entry, where all were popped", {.sample_preemptions = 2},
                            pop_and_push_two<true>);

/// [D8] The array has a hole when it grows.
const scenario holes("deque: a hole, and growth under a thief", {}, [] {
  table<3> t;
  t.push(1);
  t.push(0);
  t.take(t.deque.steal([](std::uint64_t tag) { return tag == 0; }));
  threads({[&] {
             t.push(2);
             t.pop();
           },
           [&] { t.steal(); }});
  t.check(3);
});

/// Those that pass entries over: an isolated owner, an isolated thief.
const scenario filters("deque: entries that are passed over", {}, [] {
  table<4> t;
  t.push(1);
  t.push(2);
  threads({[&] {
             t.take(t.deque.pop(odd));
             t.push(3);
           },
           [&] { t.take(t.deque.steal(odd)); }});
  t.jobs[0].times_taken = 1;
  t.check(4);
});

/// The tag that a thief sees belongs to its item, unless the entry was reused in between: then it is that of a later
/// one.
const scenario tags("deque: tags", {}, [] {
  work_deque deque;
  deque.push(8, 1);
  threads({[&] {
             static_cast<void>(deque.pop(all));
             deque.push(16, 2);
           },
           [&] {
             const deque_item got = deque.steal(all);
             require(got.item == 0 || (got.item == 8 && got.tag <= 2) || (got.item == 16 && got.tag == 2),
                     "a tag is the item's, or a later one's");
           }});
});

/// [D10] with S1 and S2 of sleep.md: a push is seen by the sleeper's last look, or somebody is called for it, or taken.
template <bool Isolated, bool Tells = true>
void sleeper() {
  work_deque deque;
  sleep_protocol sleep;
  bool called = false;
  bool found = false;
  bool taken = false;
  deque.push(8, 0);
  bool called_by_thief = false;
  threads({[&] {
             static_cast<void>(deque.pop(all));
             deque.push(16, 1);
             called = sleep.must_call();
           },
           [&] {
             const auto uncovered = [&] {
               if (Tells) {
                 called_by_thief = sleep.must_call();
               }
             };
             taken = (Isolated ? deque.steal([](std::uint64_t tag) { return tag == 0; }, uncovered)
                               : deque.steal(all, uncovered))
                         .item == 16;
           },
           [&] {
             sleep.announce();
             found = deque.has(all);
           }});
  require(called || called_by_thief || found || taken,
          "no entry is there that a sleeper has missed and nobody calls for");
}
const scenario sleeper_beside_thief("deque: a sleeper beside an isolated thief", {.sample_preemptions = 1},
                                    sleeper<true>);

/// [D8] with S1 and S2: the owner makes room, and pushes nothing.
const scenario sleeper_beside_move("deque: a sleeper while the owner makes room", {}, [] {
  work_deque deque;
  sleep_protocol sleep;
  bool called = false;
  bool found = false;
  deque.push(8, 0);
  deque.push(16, 1);
  threads({[&] { require(deque.reserve_one([&] { called = sleep.must_call(); }), "there is memory"); },
           [&] {
             sleep.announce();
             found = deque.has(all);
           }});
  require(called || found, "the sleeper sees the entries, or somebody is called for them");
});

/// A thief told nobody of the entries that it had hidden.
const scenario hidden("deque, as it was: an entry that an isolated thief hides from a sleeper",
                      {.preemptions = 2, .fault = "no entry is there that a sleeper has missed"}, sleeper<true, false>);

}  // namespace
