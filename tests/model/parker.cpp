/// Parker: a token is never lost, and brings what its giver wrote; alone, and in the frame of the sleep protocol.
/// Method: every execution of a sleeper and those who wake it; docs/protocols/sleep.md [S1] to [S5].
#include "sync/parker.hpp"
#include "engine/model.hpp"
#include "sync/asymmetric_fence.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using sync::acquire;
using sync::parker;
using sync::relaxed;
using sync::release;

const scenario one_token("parker: one token", {}, [] {
  parker p;
  sync::plain<int> word = 0;
  threads({[&] {
             p.park();
             require(word == 1, "the token brings what was written before it");
           },
           [&] {
             word = 1;
             p.unpark();
           }});
});

/// A second token is taken with the first, and its giver's writes are seen.
const scenario two_givers("parker: two givers, until both have come", {}, [] {
  parker p;
  sync::atomic<int> came = 0;
  sync::plain<int> a = 0;
  sync::plain<int> b = 0;
  threads({[&] {
             while (came.load(relaxed) != 2) {
               p.park();
             }
           },
           [&] {
             a = 1;
             static_cast<void>(came.fetch_add(1, relaxed));
             p.unpark();
           },
           [&] {
             b = 1;
             static_cast<void>(came.fetch_add(1, relaxed));
             p.unpark();
           }});
  require(a == 1 && b == 1, "both have come");
});

const scenario twice("parker: two tokens for two parks", {}, [] {
  parker p;
  parker back;
  sync::plain<int> word = 0;
  threads({[&] {
             p.park();
             require(word == 1, "the first");
             word = 2;
             back.unpark();
             p.park();
             require(word == 3, "the second");
           },
           [&] {
             word = 1;
             p.unpark();
             back.park();
             require(word == 2, "the answer");
             word = 3;
             p.unpark();
           }});
});

const scenario timed("parker: a sleep that ends by itself", {}, [] {
  parker p;
  sync::plain<int> word = 0;
  threads({[&] {
             if (!p.park_for(1)) {
               p.park();  // the token that came late is found here
             }
             require(word == 1, "the token brings what was written before it");
           },
           [&] {
             word = 1;
             p.unpark();
           }});
});

/// A token that is there before the sleep begins. `Park` is the parker's, or as it was once.
template <typename Park>
void timed_twice(Park&& park_for) {
  parker p;
  sync::atomic<int> word = 0;
  threads({[&] {
             bool told = false;
             for (int i = 0; i < 2; ++i) {
               told |= park_for(p);
             }
             require(told || word.load(acquire) == 0 || p.has_token(), "a token is told of, or is there still");
           },
           [&] {
             p.unpark();
             word.store(1, release);
           }});
}
const scenario token_before("parker: a token before a sleep that ends by itself", {},
                            [] { timed_twice([](parker& p) { return p.park_for(1); }); });

/// As it was: a token that was there when the sleep began was taken, and not told of.
bool park_for_and_forget(parker& p) {
  const bool was_there = p.has_token();
  return p.park_for(1) && !was_there;
}
const scenario token_lost("parker, as it was: a token before a sleep is lost",
                          {.fault = "a token is told of, or is there still"}, [] { timed_twice(park_for_and_forget); });

/// S1 and S2 around it: announced, the heavy fence, a last look, the park; pushed, the light fence, a look for
/// sleepers.
template <int Pushers>
void sleep_and_push() {
  parker p;
  sync::atomic<int> listed = 0;
  sync::atomic<int> pushed = 0;
  const auto push = [&] {
    static_cast<void>(pushed.fetch_add(1, relaxed));
    sync::light_fence();
    if (listed.load(relaxed) == 1 && listed.exchange(0, sync::acq_rel) == 1) {
      p.unpark();
    }
  };
  const auto sleep = [&] {
    for (int taken = 0; taken < Pushers;) {
      p.clear();
      listed.store(1, release);
      sync::heavy_fence();
      if (pushed.load(relaxed) == taken) {
        p.park();
      } else if (listed.exchange(0, sync::acq_rel) == 0) {
        p.park();  // somebody has called: the token is on its way
      }
      taken = pushed.load(relaxed);
    }
  };
  Pushers == 1 ? threads({sleep, push}) : threads({sleep, push, push});
}
const scenario one_pusher("sleep: one pusher, one sleeper", {}, sleep_and_push<1>);
const scenario two_pushers("sleep: two pushers, one sleeper", {.sample_preemptions = 1}, sleep_and_push<2>);

}  // namespace
