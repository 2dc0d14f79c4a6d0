/// Slots: who gives up a share sees what was pushed in a slot, or the pusher sees the smaller share, though the heavy
/// fence is left out where nobody may push behind a light one. Method: every execution of one that looks and of one or
/// two that hold the slot; docs/protocols/arena.md [A1], [A23].
#include "engine/model.hpp"
#include "runtime/arena/slot_hold.hpp"
#include "sync/asymmetric_fence.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using sync::relaxed;

enum class begins : std::uint8_t { free, held, searching };

struct frame {
  scheduler::slot_hold hold;
  scheduler::search_flag searching;
  sync::plain<int> deque = 0;    ///< of the slot's holder
  sync::atomic<int> pushed = 0;  ///< what thieves read of it
  sync::atomic<int> share = 1;
  bool pusher_saw = false;
  bool looker_saw = false;

  explicit frame(begins as) {
    if (as != begins::free) {
      require(hold.try_take(), "nobody holds a new slot");
    }
    if (as == begins::searching) {
      searching.set();
    }
  }

  /// [A11] The share falls, and then the look for work that is left.
  void give_up_the_share() {
    share.store(0, relaxed);
    sync::full_fence();
    if (scheduler::may_push_lightly(hold, searching)) {
      sync::heavy_fence();
    }
    looker_saw = pushed.load(relaxed) == 1;
  }
  void push() {
    deque = deque + 1;
    pushed.store(1, relaxed);
    sync::light_fence();
    pusher_saw = share.load(relaxed) == 0;
  }
  void stop_searching() {
    searching.clear();
    sync::full_fence_after_exchange();  // as behind the count of searchers
  }
  void require_seen() const { require(pusher_saw || looker_saw, "the push was seen, or its pusher saw the share"); }
};

/// `thread`: what the slot's thread does while the other gives up the share.
template <typename Thread>
void with_one(begins as, Thread&& thread) {
  frame f(as);
  threads({[&] { f.give_up_the_share(); }, [&] { thread(f); }});
  f.require_seen();
}

const scenario held("slots: its holder pushes", {}, [] { with_one(begins::held, [](frame& f) { f.push(); }); });

const scenario stops("slots: a searcher stops, then pushes", {}, [] {
  with_one(begins::searching, [](frame& f) {
    f.stop_searching();
    f.push();
  });
});

const scenario begins_to_search("slots: a holder pushes, then searches", {}, [] {
  with_one(begins::held, [](frame& f) {
    f.push();
    f.searching.set();
  });
});

const scenario between_searches("slots: a searcher stops, pushes, searches again", {}, [] {
  with_one(begins::searching, [](frame& f) {
    f.stop_searching();
    f.push();
    f.searching.set();
  });
});

const scenario comes("slots: a thread takes the slot, then pushes", {}, [] {
  with_one(begins::free, [](frame& f) {
    require(f.hold.try_take(), "nobody else wants it");
    f.push();
  });
});

const scenario leaves("slots: a holder pushes, then leaves", {}, [] {
  with_one(begins::held, [](frame& f) {
    f.push();
    f.hold.free();
  });
});

/// The look may find the successor, which searches, and not the one that pushed.
const scenario follows("slots: one pushes and leaves, the next one searches", {}, [] {
  frame f(begins::held);
  threads({[&] { f.give_up_the_share(); },
           [&] {
             f.push();
             f.hold.free();
           },
           [&] {
             if (f.hold.try_take()) {
               require(f.deque == 1, "A1: the last holder's deque");
               f.searching.set();
             }
           }});
  f.require_seen();
});

const scenario two_want_it("slots: two threads want one slot", {}, [] {
  frame f(begins::free);
  sync::atomic<int> holders = 0;
  const auto come = [&] {
    if (f.hold.try_take()) {
      require(holders.fetch_add(1, relaxed) == 0, "one at a time");
      f.deque = f.deque + 1;
      static_cast<void>(holders.fetch_sub(1, relaxed));
      f.hold.free();
    }
  };
  threads({come, come});
});

}  // namespace
