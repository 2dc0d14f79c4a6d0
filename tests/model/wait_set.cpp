/// Wait set: nobody sleeps on a condition that holds, and no record is touched after its stack is gone. Method: every
/// execution of waiters and notifiers; docs/protocols/wait_set.md.
#include "sync/wait_set.cpp"
#include "engine/model.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using sync::seq_cst;
using sync::wait_set;

constexpr auto every_key = [](const wait_set::key&) { return true; };

struct hall {
  wait_set set;
  sync::atomic<bool> open = false;
  sync::plain<int> word = 0;

  void enter(std::uintptr_t door = 1) {
    while (!open.load(seq_cst)) {
      static_cast<void>(set.wait({door, 0}, [&] { return open.load(seq_cst); }));
    }
  }
  void let_in(wait_set::limit at_most) {
    static_cast<void>(open.exchange(true, seq_cst));  // by a read-modify-write, as every user of the set
    set.notify(at_most, every_key);
  }
};

const scenario one_waiter("wait set: one waiter, notify one", {}, [] {
  hall h;
  threads({[&] { h.enter(); }, [&] { h.let_in(wait_set::limit::one); }});
});

const scenario two_waiters("wait set: two waiters, notify all", {.preemptions = 1, .sample_preemptions = 0}, [] {
  hall h;
  threads({[&] { h.enter(1); }, [&] { h.enter(2); }, [&] { h.let_in(wait_set::limit::all); }});
});

/// A notification carries what its giver wrote before it.
const scenario written("wait set: what was written before a notification", {}, [] {
  hall h;
  threads({[&] {
             const auto ready = [&] { return h.open.load(sync::relaxed); };
             if (h.set.wait({1, 0}, ready) == wait_set::outcome::notified) {
               require(h.word == 1, "it is seen");
             }
           },
           [&] {
             h.word = 1;
             h.let_in(wait_set::limit::one);
           }});
});

/// As a mutex's waiters: each that is let in lets the next one in, one at a time.
const scenario one_by_one("wait set: two waiters, one by one", {.preemptions = 1, .sample_preemptions = 0}, [] {
  wait_set set;
  sync::atomic<int> seats = 0;
  const auto take_seat = [&] {
    int left = seats.load(seq_cst);
    while (left == 0 || !seats.compare_exchange_strong(left, left - 1, seq_cst, seq_cst)) {
      static_cast<void>(set.wait({1, 0}, [&] { return seats.load(seq_cst) > 0; }));
      left = seats.load(seq_cst);
    }
  };
  const auto free_seat = [&] {
    static_cast<void>(seats.fetch_add(1, seq_cst));
    set.notify(wait_set::limit::one, every_key);
  };
  threads({[&] {
             take_seat();
             free_seat();
           },
           [&] {
             take_seat();
             free_seat();
           },
           [&] { free_seat(); }});
});

const scenario aborted("wait set: all are sent away", {}, [] {
  wait_set set;
  sync::atomic<bool> over = false;
  threads({[&] {
             while (!over.load(seq_cst)) {
               static_cast<void>(set.wait({1, 0}, [&] { return over.load(seq_cst); }));
             }
           },
           [&] {
             static_cast<void>(over.exchange(true, seq_cst));
             set.abort_all();
           }});
});

/// Keys: who waits for another condition is left alone.
const scenario keys("wait set: a notification for another key", {.preemptions = 1, .sample_preemptions = 0}, [] {
  hall h;
  threads({[&] { h.enter(1); },
           [&] { h.set.notify(wait_set::limit::one, [](const wait_set::key& k) { return k.address == 2; }); },
           [&] { h.let_in(wait_set::limit::one); }});
});

/// [W2] A condition that throws: the record leaves the list, or takes the notification that is on its way.
const scenario thrown("wait set: a condition that throws", {}, [] {
  hall h;
  threads({[&] {
             bool caught = false;
             try {
               static_cast<void>(h.set.wait({1, 0}, []() -> bool { throw 1; }));
             } catch (int) {
               caught = true;
             }
             require(caught, "the exception passes through");
           },
           [&] { h.let_in(wait_set::limit::all); }});
});

}  // namespace
