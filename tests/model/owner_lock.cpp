/// Owner lock: sections exclude each other and see what earlier ones wrote. Method: every execution of an owner and
/// others; docs/protocols/owner_lock.md.
#include "sync/owner_lock.hpp"
#include "engine/model.hpp"

namespace {

using namespace homing;
using namespace homing::model;

struct guarded {
  sync::basic_owner_lock<2> lock;  // shared for two sections of its owner's
  sync::plain<int> count = 0;

  void as_owner(int times) {
    for (; times > 0; --times) {
      lock.lock_as_owner();
      ++count;
      lock.unlock_as_owner();
    }
  }
  void as_other() {
    lock.lock_as_other();
    ++count;
    lock.unlock_as_other();
  }
};

const scenario one_other("owner lock: its owner twice, and another", {}, [] {
  guarded g;
  threads({[&] { g.as_owner(2); }, [&] { g.as_other(); }});
  require(g.count == 3, "each section counted");
});

const scenario two_others("owner lock: its owner, and two others", {.sample_preemptions = 2}, [] {
  guarded g;
  threads({[&] { g.as_owner(1); }, [&] { g.as_other(); }, [&] { g.as_other(); }});
  require(g.count == 3, "each section counted");
});

/// [OL4] The lock becomes its owner's again, and the next one goes through OL2.
const scenario back("owner lock: it is its owner's again", {.sample_preemptions = 2}, [] {
  guarded g;
  g.as_other();
  threads({[&] { g.as_owner(3); }, [&] { g.as_other(); }});
  require(g.count == 5, "each section counted");
});

const scenario back_twice("owner lock: again, and others twice", {.preemptions = 4, .in_sample = false}, [] {
  guarded g;
  g.as_other();
  threads({[&] { g.as_owner(4); },
           [&] {
             g.as_other();
             g.as_other();
           }});
  require(g.count == 7, "each section counted");
});

/// One heavy fence serves all locks that were marked before it, as in a walk over all lists.
const scenario one_fence("owner lock: two locks and one heavy fence", {.sample_preemptions = 2}, [] {
  guarded first;
  guarded second;
  threads({[&] { first.as_owner(1); }, [&] { second.as_owner(1); },
           [&] {
             const bool a = first.lock.begin_lock_as_other();
             const bool b = second.lock.begin_lock_as_other();
             if (a || b) {
               sync::heavy_fence();
             }
             first.lock.end_lock_as_other();
             second.lock.end_lock_as_other();
             ++first.count;
             ++second.count;
             first.lock.unlock_as_other();
             second.lock.unlock_as_other();
           }});
  require(first.count == 2 && second.count == 2, "each section counted");
});

}  // namespace
