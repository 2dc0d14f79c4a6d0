/// Observers: who is switched off is in no callback any more, who was switched on before a look is told, and where an
/// arena ends beside its observer, one of them frees what ties the two. Method: every execution of a caller and of who
/// switches an observer on or off, on the production list; docs/protocols/observers.md.
#define __TBB_BUILD 1
#include <oneapi/tbb/task_arena.h>  // whose atomics are not looked at, and must have their size

#include "tbb_atomics.hpp"

#include "runtime/arena/observer_list.cpp"
#undef atomic

#include "engine/model.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using homing::scheduler::observer_list;

}  // namespace

void tbb::detail::r1::observe(d1::task_scheduler_observer& observer, bool enable) {
  homing::model::require(!enable, "models switch observers on by the list");
  homing::scheduler::observer_list::deactivate(observer);
}

namespace {

/// Counts its callbacks where nobody else may write.
struct counting_observer : tbb::task_scheduler_observer {
  sync::plain<int> entries = 0;
  sync::plain<int> exits = 0;

  void on_scheduler_entry(bool /*is_worker*/) override { ++entries; }
  void on_scheduler_exit(bool /*is_worker*/) override { ++exits; }
};

/// As a thread that comes and goes: it looks for news before it asks who is new.
void come_and_go(observer_list& list) {
  observer_list::number notified = 0;
  if (list.has_news(notified)) {
    list.notify_entry(notified, false);
  }
  if (list.any()) {
    list.notify_exit(notified, false);
  }
}

const scenario switched_off("observers: switched off beside a thread that comes and goes", {}, [] {
  observer_list list;
  counting_observer o;
  require(list.activate(o), "it was off");
  threads({[&] { come_and_go(list); },
           [&] {
             observer_list::deactivate(o);
             // No callback runs now, and none will: what they write may go.
             require(o.exits <= o.entries, "an exit is told after the entry");
             o.entries = -1;
           }});
  require(o.entries == -1, "nobody is called who is switched off");
});

const scenario switched_on("observers: the first is switched on beside a thread that comes and goes", {}, [] {
  observer_list list;
  counting_observer o;
  sync::atomic<bool> is_on{false};
  int told = 0;
  threads({[&] {
             // A load first: else its stores are there before the others begin.
             require(!list.any(), "it is the first");
             o.entries = 10;
             require(list.activate(o), "it was off");
             is_on.store(true, sync::release);
           },
           [&] {
             const bool must_be_told = is_on.load(sync::acquire);
             come_and_go(list);
             told = must_be_told ? 1 : 0;
           }});
  require(o.entries == 10 || o.entries == 11, "it was called at most once, and what was written before is there");
  require(told == 0 || o.entries == 11, "who comes when it is on calls it");
  require(o.exits == o.entries - 10, "who has called it at the entry calls it at the exit");
  observer_list::deactivate(o);
});

const scenario two_switched_on("observers: two of one arena are switched on at once", {}, [] {
  observer_list list;
  counting_observer first;
  counting_observer second;
  threads(
      {[&] { require(list.activate(first), "it was off"); }, [&] { require(list.activate(second), "it was off"); }});
  come_and_go(list);
  require(first.entries == 1 && second.entries == 1, "both are called, in whatever order they came");
  observer_list::deactivate(first);
  observer_list::deactivate(second);
});

const scenario on_and_off("observers: switched on beside who switches it off", {}, [] {
  // oneTBB's header calls that unsafe; it is whole here, whoever comes first.
  observer_list list;
  counting_observer o;
  threads({[&] {
             require(!o.is_observing(), "it was off");
             require(list.activate(o), "it was off");
           },
           [&] { observer_list::deactivate(o); }});
  observer_list::deactivate(o);
  come_and_go(list);
  require(o.entries == 0, "it is off");
});

/// Switched off from its own callback, while another thread is in one, too.
struct closing_observer : counting_observer {
  void on_scheduler_entry(bool is_worker) override {
    counting_observer::on_scheduler_entry(is_worker);
    observer_list::deactivate(*this);
    entries = 0;
  }
};

const scenario switches_itself_off("observers: switches itself off", {}, [] {
  observer_list list;
  closing_observer o;
  require(list.activate(o), "it was off");
  threads({[&] { come_and_go(list); }});
  require(!list.any() || (o.entries == 0 && o.exits == 0), "it waits for nobody, and is told of nothing more");
  require(!o.is_observing(), "it is off");
});

const scenario ends("observers: the arena ends beside an observer that is switched off", {}, [] {
  std::optional<observer_list> list(std::in_place);
  counting_observer o;
  require(list->activate(o), "it was off");
  threads({[&] { list.reset(); }, [&] { observer_list::deactivate(o); }});
  require(!o.is_observing(), "it watches nothing");
});

const scenario both_end("observers: the arena ends beside its observer's end", {}, [] {
  std::optional<observer_list> list(std::in_place);
  std::optional<counting_observer> o(std::in_place);
  require(list->activate(*o), "it was off");
  threads({[&] { list.reset(); }, [&] { o.reset(); }});
});

}  // namespace
