/// Searchers counted by domain: a push that relied on a searcher is seen by the last one that stops.
/// Method: every execution of one pusher and of searchers of two domains; docs/protocols/sleep.md [S3], [S14], [S16].
#include "runtime/arena/searcher_counts.hpp"

#include <array>

#include "engine/model.hpp"
#include "runtime/arena/slot_hold.hpp"
#include "sync/asymmetric_fence.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using scheduler::nested_searcher;
using scheduler::outer_searcher;
using scheduler::searcher_counts;
using sync::relaxed;

/// One push, and who answers for it: the pusher that saw nobody calls; a searcher that stops last looks.
struct frame {
  std::array<searcher_counts::line, 2> lines{};
  searcher_counts counts{lines};
  sync::atomic<int> pushed = 0;
  sync::atomic<int> answers = 0;

  void push_spawned(unsigned domain) {
    pushed.store(1, relaxed);
    sync::light_fence();
    if (counts.seen_from(domain_index{domain}) == 0) {
      answer();
    }
  }
  /// [S14] Whoever enqueues looks behind a full fence at those only that take such tasks.
  void push_enqueued() {
    pushed.store(1, relaxed);
    sync::full_fence();
    if (scheduler::outer_searchers(counts.domains()) == 0) {
      answer();
    }
  }
  void stop(unsigned domain, int kind = outer_searcher) {
    const searcher_counts::stopped left = counts.end(domain_index{domain}, kind);
    if (left.last) {
      sync::heavy_fence();
    } else if (left.last_outer) {
      sync::full_fence_after_exchange();
    } else {
      return;
    }
    if (pushed.load(relaxed) == 1) {
      answer();
    }
  }
  void search(unsigned domain) {
    counts.begin(domain_index{domain}, outer_searcher);
    stop(domain);
  }
  void answer() { static_cast<void>(answers.fetch_add(1, relaxed)); }
  void require_answer() {
    require(answers.load(relaxed) != 0, "somebody called, or the last searcher saw the push");
    require(counts.domains() == 0 && counts.in_domain(domain_index{0}) == 0 && counts.in_domain(domain_index{1}) == 0,
            "nobody is counted any more");
  }
};

/// Both domains have a searcher; the push comes from one of them.
const scenario one_each("searchers: one of each domain stops", {}, [] {
  frame f;
  f.counts.begin(domain_index{0}, outer_searcher);
  f.counts.begin(domain_index{1}, outer_searcher);
  threads({[&] { f.stop(0); }, [&] { f.stop(1); }, [&] { f.push_spawned(0); }});
  f.require_answer();
});

const scenario two_of_one("searchers: two of the pusher's domain stop", {}, [] {
  frame f;
  f.counts.begin(domain_index{0}, outer_searcher);
  f.counts.begin(domain_index{0}, outer_searcher);
  threads({[&] { f.stop(0); }, [&] { f.stop(0); }, [&] { f.push_spawned(0); }});
  f.require_answer();
});

const scenario far("searchers: two of another domain stop", {}, [] {
  frame f;
  f.counts.begin(domain_index{1}, outer_searcher);
  f.counts.begin(domain_index{1}, outer_searcher);
  threads({[&] { f.stop(1); }, [&] { f.stop(1); }, [&] { f.push_spawned(0); }});
  f.require_answer();
});

/// One begins while the other stops, in the pusher's domain or in another.
template <unsigned Pusher>
void newcomer() {
  frame f;
  f.counts.begin(domain_index{0}, outer_searcher);
  threads({[&] { f.stop(0); }, [&] { f.search(0); }, [&] { f.push_spawned(Pusher); }});
  f.require_answer();
}
const scenario newcomer_near("searchers: one begins, one stops, near", {}, newcomer<0>);
const scenario newcomer_far("searchers: one begins, one stops, far", {}, newcomer<1>);

const scenario newcomer_elsewhere("searchers: one begins in another domain, one stops", {}, [] {
  frame f;
  f.counts.begin(domain_index{0}, outer_searcher);
  threads({[&] { f.stop(0); }, [&] { f.search(1); }, [&] { f.push_spawned(0); }});
  f.require_answer();
});

/// What a searcher gives back it pushes while it is counted itself, and while its slot says that it searches: the
/// others answer for that, too, and leave the heavy fence out if all of them search. [A23]
struct slots_frame : frame {
  struct place {
    scheduler::slot_hold hold;
    scheduler::search_flag searching;
    unsigned domain = 0;
  };
  place places[3];

  explicit slots_frame(const unsigned (&domains)[3]) {
    for (unsigned i = 0; i != 3; ++i) {
      require(places[i].hold.try_take(), "nobody holds a new slot");
      places[i].searching.set();
      places[i].domain = domains[i];
      counts.begin(domain_index{domains[i]}, outer_searcher);
    }
  }
  /// As searchers::stop_searching() and hand_over().
  void stop_in(unsigned own) {
    places[own].searching.clear();
    const searcher_counts::stopped left = counts.end(domain_index{places[own].domain}, outer_searcher);
    sync::full_fence_after_exchange();
    if (!left.last) {
      return;
    }
    bool needs_heavy = false;
    for (unsigned i = 0; i != 3; ++i) {
      needs_heavy |= i != own && scheduler::may_push_lightly(places[i].hold, places[i].searching);
    }
    if (needs_heavy) {
      sync::heavy_fence();
    }
    if (pushed.load(relaxed) == 1) {
      answer();
    }
  }
};

template <unsigned Last>
void gives_back() {
  slots_frame f({0, 0, Last});
  threads({[&] {
             f.push_spawned(0);
             f.stop_in(0);
           },
           [&] {
             f.stop_in(1);
             f.places[1].hold.free();  // its wait has ended, and it goes
           },
           [&] { f.stop_in(2); }});
  f.require_answer();
}
const scenario gives_back_near("searchers: one gives a task back and stops, all near", {}, gives_back<0>);
const scenario gives_back_far("searchers: one gives a task back and stops, one is far", {}, gives_back<1>);

/// Whoever wakes a thread counts it before that one runs [S4]; here the waker is a searcher that stops.
const scenario woken("searchers: one is counted by who wakes it", {}, [] {
  frame f;
  f.counts.begin(domain_index{0}, outer_searcher);
  sync::atomic<int> token = 0;
  threads({[&] {
             f.counts.begin(domain_index{1}, outer_searcher);
             token.store(1, sync::release);
             f.stop(0);
           },
           [&] {
             if (token.load(sync::acquire) == 1) {
               f.stop(1);
             }
           },
           [&] { f.push_spawned(0); }});
  if (f.counts.in_domain(domain_index{1}) != 0) {
    f.stop(1);
  }
  f.require_answer();
});

/// A nested searcher goes on: it takes no enqueued task, and does not answer for one.
const scenario enqueued("searchers: enqueued, the last outermost one stops", {}, [] {
  frame f;
  f.counts.begin(domain_index{0}, outer_searcher);
  f.counts.begin(domain_index{1}, outer_searcher);
  f.counts.begin(domain_index{1}, nested_searcher);
  threads({[&] { f.stop(0); }, [&] { f.stop(1); }, [&] { f.push_enqueued(); }});
  require(f.answers.load(relaxed) != 0, "somebody called, or the last outermost searcher saw the push");
});

}  // namespace
