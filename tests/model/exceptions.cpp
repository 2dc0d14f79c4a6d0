/// Exceptions of a group: each that is thrown in it is rethrown at most once, whole, and none is dropped that a waiter
/// should have had. Method: every execution of tasks that throw and of waiters, on the production word of a context;
/// docs/protocols/contexts.md [C6], [C7].
#include "engine/model.hpp"
#include "runtime/task/exception_word.hpp"

namespace {

using namespace homing;
using namespace homing::model;
namespace word = scheduler::exception_word;
using sync::acquire;
using sync::relaxed;
using sync::release;

struct boom {
  sync::plain<int> what = 0;
  sync::plain<int> times_owned = 0;  ///< by whoever has taken it, or dropped it

  void own() {
    require(what == 1, "what its thrower wrote");
    ++times_owned;
    require(times_owned == 1, "C6: one has it");
  }
};

/// A group, its context's word, and the count of its tasks.
struct group {
  sync::atomic<boom*> held = nullptr;
  sync::atomic<int> count;
  sync::atomic<int> rethrown = 0;
  const bool several;

  explicit group(int tasks, bool has_several_waiters = true) : count(tasks), several(has_several_waiters) {}

  /// A task throws: it stores, and counts itself out.
  void run(boom& b) {
    b.what = 1;
    if (!word::keep_first(held, &b)) {
      b.own();  // dropped, by its thrower
    }
    static_cast<void>(count.fetch_sub(1, sync::seq_cst));
  }
  void take() {
    if (word::is_full(held)) {
      if (boom* const taken = word::take(held)) {
        taken->own();
        static_cast<void>(rethrown.fetch_add(1, relaxed));
      }
    }
  }
  void reset() {
    if (boom* const dropped = word::take_at_reset(held, several)) {
      dropped->own();
    }
  }
  /// A waiter takes first and resets then.
  void wait() {
    while (count.load(acquire) != 0) {
      sync::cpu_relax();
    }
    take();
    reset();
  }
};

const scenario two_throw("exceptions: two tasks throw, one waits", {}, [] {
  group g(2, false);
  boom a;
  boom b;
  threads({[&] { g.run(a); }, [&] { g.run(b); }, [&] { g.wait(); }});
  require(g.rethrown.load(relaxed) == 1 && a.times_owned == 1 && b.times_owned == 1, "one is rethrown, one dropped");
});

const scenario two_wait("exceptions: one task throws, two wait", {.sample_preemptions = 3}, [] {
  group g(1);
  boom a;
  threads({[&] { g.run(a); }, [&] { g.wait(); }, [&] { g.wait(); }});
  require(g.rethrown.load(relaxed) == 1, "exactly one rethrows");
});

/// Without a count between them: a cancellation, say, has let the waiter go.
const scenario at_once("exceptions: one task throws beside those that take", {}, [] {
  group g(1);
  boom a;
  threads({[&] { g.run(a); }, [&] { g.take(); }, [&] { g.take(); }});
  g.take();
  require(g.rethrown.load(relaxed) == 1, "exactly one rethrows");
});

/// The second task is added by a waiter of the first, and the other waiter's reset comes late.
template <bool Several>
void two_rounds() {
  group g(1, Several);
  boom a;
  boom b;
  threads({[&] { g.run(a); },
           [&] {
             g.wait();
             static_cast<void>(g.count.fetch_add(1, sync::seq_cst));
             g.run(b);
             g.wait();
           },
           [&] { g.wait(); }});
  require(g.rethrown.load(relaxed) == 2, "both are rethrown");
}
const scenario late_reset("exceptions: a waiter resets while the next one is thrown",
                          {.preemptions = 3, .sample_preemptions = 2}, two_rounds<true>);

const scenario drops("exceptions, as they were: a late reset drops another waiter's",
                     {.preemptions = 3, .sample_preemptions = 2, .fault = "both are rethrown"}, two_rounds<false>);

}  // namespace
