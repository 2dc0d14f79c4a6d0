/// The pipeline's input and its tokens: of all tasks that may fetch it one does, it is never forgotten, and what the
/// input filter did goes from one to the next. Method: every execution of tasks that offer and take, and of helpers,
/// on the production offer; docs/protocols/pipeline.md [PI3] to [PI7].
#include "engine/model.hpp"
#include "runtime/pipeline/input_offer.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using scheduler::input_offer;
using sync::relaxed;

/// The input filter, and the helper: whoever makes it puts it in somebody's deque, from where one takes it.
struct stream {
  input_offer offer;
  sync::plain<int> fetched = 0;  ///< by the input filter, which one task at a time may call
  sync::atomic<int> helpers{0};  ///< in some deque
  const int last;

  explicit stream(int items, bool are_long = true) : last(items) {
    if (are_long) {
      offer.add_item_time(1'000'000);  // worth a thread's while
    }
  }

  /// The caller has the input: it fetches an item, and offers the next one.
  void fetch(const void* by) {
    ++fetched;
    if (fetched != last && offer.offer(by)) {
      static_cast<void>(helpers.fetch_add(1, sync::release));
    }
  }
  /// A task whose item is through.
  bool go_on(const void* by) {
    const bool mine = offer.take(by);
    if (mine) {
      fetch(by);
    }
    return mine;
  }
  /// Whoever finds the helper in a deque runs it.
  void run_helper(const void* by) {
    int seen = helpers.load(relaxed);
    if (seen != 0 && helpers.compare_exchange_strong(seen, seen - 1, sync::acquire, relaxed) &&
        offer.take_by_helper()) {
      fetch(by);
    }
  }
  /// Nobody is under way any more but the helper.
  void drain() {
    for (int i = 0; i < last && helpers.load(relaxed) != 0; ++i) {
      require(helpers.load(relaxed) == 1, "PI7: at most one helper is out");
      run_helper(this);
    }
    require(fetched == last, "the input is never forgotten");
  }
};

alignas(4) const int tasks[3] = {};

const scenario takers("offer: two tasks go on with what a third one has offered", {}, [] {
  stream s(3);
  threads({[&] { s.fetch(&tasks[0]); }, [&] { s.go_on(&tasks[1]); }, [&] { s.go_on(&tasks[2]); }});
  s.drain();
});

const scenario taker_and_call("offer: a task goes on beside the helper", {.sample_preemptions = 2}, [] {
  stream s(3);
  threads({[&] {
             s.fetch(&tasks[0]);
             s.go_on(&tasks[0]);
           },
           [&] { s.run_helper(&tasks[1]); }, [&] { s.go_on(&tasks[2]); }});
  s.drain();
});

/// The call runs while the next offer is made: that one needs a new call, or is seen by this one.
const scenario call_and_offer("offer: the helper runs beside the next offers", {}, [] {
  stream s(4);
  threads({[&] {
             s.fetch(&tasks[0]);
             while (s.go_on(&tasks[0])) {
             }
           },
           [&] {
             s.run_helper(&tasks[1]);
             s.run_helper(&tasks[1]);
           }});
  s.drain();
});

/// Short items: a task leaves what another one has offered.
const scenario short_items("offer: short items are left to their thread", {}, [] {
  stream s(3, false);
  s.offer.add_item_time(1);
  threads({[&] {
             s.fetch(&tasks[0]);
             s.go_on(&tasks[0]);
           },
           [&] { require(!s.go_on(&tasks[1]), "it is not worth its way"); }, [&] { s.run_helper(&tasks[2]); }});
  s.drain();
});

// ---- tokens: no more items are under way than there are

/// Each task fetches, passes its item on, and has the input again if it stood still.
struct narrow_stream {
  scheduler::input_tokens tokens;
  sync::plain<int> fetched = 0;
  sync::atomic<int> under_way{0};
  sync::atomic<int> offered{0};  ///< stands for the offer, which has scenarios of its own
  const int last;
  const int most;

  narrow_stream(int items, int at_once) : tokens(at_once), last(items), most(at_once) {}

  /// The caller has the input.
  void go_on_as_input() {
    for (bool has_input = true; has_input && fetched != last;) {
      ++fetched;
      require(under_way.fetch_add(1, relaxed) < most, "PI3: a token for each item");
      if (tokens.take()) {
        offered.store(1, sync::release);
      }
      static_cast<void>(under_way.fetch_sub(1, relaxed));
      has_input = tokens.give_back() || take_offer();
    }
  }
  bool take_offer() { return offered.load(relaxed) == 1 && offered.exchange(0, sync::acquire) == 1; }
  void come() {
    if (take_offer()) {
      go_on_as_input();
    }
  }
};

template <int Tokens>
void with_tokens() {
  narrow_stream s(3, Tokens);
  threads({[&] { s.go_on_as_input(); }, [&] { s.come(); }});
  s.come();
  require(s.fetched == s.last, "the input is never forgotten");
}
const scenario one_token("tokens: one", {}, with_tokens<1>);
const scenario two_tokens("tokens: two, and two tasks", {}, with_tokens<2>);

/// The last token is taken while others are given back: one of these tasks has the input then.
const scenario stood_still("tokens: input stands still, and two items come through", {}, [] {
  scheduler::input_tokens tokens(2);
  sync::plain<int> fetched = 1;
  require(tokens.take(), "one is left");
  const auto come_through = [&] {
    if (tokens.give_back()) {
      ++fetched;
    }
  };
  threads({[&] {
             ++fetched;
             if (tokens.take()) {
               ++fetched;  // it keeps the input
             } else {
               come_through();
             }
           },
           [&] { come_through(); }});
  require(fetched == 3, "one task had the input after both");
});

}  // namespace
