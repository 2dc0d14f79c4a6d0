/// Searchers counted by domain: a push that relied on a searcher is seen by the last one that stops.
/// Method: every execution of one pusher and of searchers of two domains; docs/protocols/sleep.md [S3], [S14], [S16].
#include "runtime/arena/searcher_counts.hpp"
#include "engine/model.hpp"
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
  searcher_counts counts{2};
  sync::atomic<int> pushed = 0;
  sync::atomic<int> answers = 0;

  void push_spawned(unsigned domain) {
    pushed.store(1, relaxed);
    sync::light_fence();
    if (counts.seen_from(domain) == 0) {
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
    const searcher_counts::stopped left = counts.end(domain, kind);
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
    counts.begin(domain, outer_searcher);
    stop(domain);
  }
  void answer() { static_cast<void>(answers.fetch_add(1, relaxed)); }
  void require_answer() {
    require(answers.load(relaxed) != 0, "somebody called, or the last searcher saw the push");
    require(counts.domains() == 0 && counts.in_domain(0) == 0 && counts.in_domain(1) == 0,
            "nobody is counted any more");
  }
};

/// Both domains have a searcher; the push comes from one of them.
const scenario one_each("searchers: one of each domain stops", {}, [] {
  frame f;
  f.counts.begin(0, outer_searcher);
  f.counts.begin(1, outer_searcher);
  threads({[&] { f.stop(0); }, [&] { f.stop(1); }, [&] { f.push_spawned(0); }});
  f.require_answer();
});

const scenario two_of_one("searchers: two of the pusher's domain stop", {}, [] {
  frame f;
  f.counts.begin(0, outer_searcher);
  f.counts.begin(0, outer_searcher);
  threads({[&] { f.stop(0); }, [&] { f.stop(0); }, [&] { f.push_spawned(0); }});
  f.require_answer();
});

const scenario far("searchers: two of another domain stop", {}, [] {
  frame f;
  f.counts.begin(1, outer_searcher);
  f.counts.begin(1, outer_searcher);
  threads({[&] { f.stop(1); }, [&] { f.stop(1); }, [&] { f.push_spawned(0); }});
  f.require_answer();
});

/// One begins while the other stops, in the pusher's domain or in another.
template <unsigned Pusher>
void newcomer() {
  frame f;
  f.counts.begin(0, outer_searcher);
  threads({[&] { f.stop(0); }, [&] { f.search(0); }, [&] { f.push_spawned(Pusher); }});
  f.require_answer();
}
const scenario newcomer_near("searchers: one begins, one stops, near", {}, newcomer<0>);
const scenario newcomer_far("searchers: one begins, one stops, far", {}, newcomer<1>);

const scenario newcomer_elsewhere("searchers: one begins in another domain, one stops", {}, [] {
  frame f;
  f.counts.begin(0, outer_searcher);
  threads({[&] { f.stop(0); }, [&] { f.search(1); }, [&] { f.push_spawned(0); }});
  f.require_answer();
});

/// Whoever wakes a thread counts it before that one runs [S4]; here the waker is a searcher that stops.
const scenario woken("searchers: one is counted by who wakes it", {}, [] {
  frame f;
  f.counts.begin(0, outer_searcher);
  sync::atomic<int> token = 0;
  threads({[&] {
             f.counts.begin(1, outer_searcher);
             token.store(1, sync::release);
             f.stop(0);
           },
           [&] {
             if (token.load(sync::acquire) == 1) {
               f.stop(1);
             }
           },
           [&] { f.push_spawned(0); }});
  if (f.counts.in_domain(1) != 0) {
    f.stop(1);
  }
  f.require_answer();
});

/// A nested searcher goes on: it takes no enqueued task, and does not answer for one.
const scenario enqueued("searchers: enqueued, the last outermost one stops", {}, [] {
  frame f;
  f.counts.begin(0, outer_searcher);
  f.counts.begin(1, outer_searcher);
  f.counts.begin(1, nested_searcher);
  threads({[&] { f.stop(0); }, [&] { f.stop(1); }, [&] { f.push_enqueued(); }});
  require(f.answers.load(relaxed) != 0, "somebody called, or the last outermost searcher saw the push");
});

}  // namespace
