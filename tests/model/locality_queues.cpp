/// Locality queues: every ticket is redeemed, each entry once, whole. Method: every execution of threads that enqueue
/// and redeem on two domains; docs/protocols/locality_queues.md.
#include "tbb_atomics.hpp"

#include <homing/locality_queues.hpp>
#undef atomic

#include "engine/model.hpp"

namespace {

using namespace homing;
using namespace homing::model;

struct item {
  sync::plain<int> is_made = 0;
  sync::plain<int> times_taken = 0;
};

constexpr domain_index left{0};
constexpr domain_index right{1};

struct market {
  locality_queues<item*> queues;
  item items[3];

  void enqueue(domain_index home, int i) {
    items[i].is_made = 1;
    queues.enqueue(home, &items[i]);
  }
  /// With n other tickets, a ticket is redeemed in its round n + 1 at the latest. [L3]
  void redeem(int tickets) {
    int rounds = 1;
    auto entry = queues.try_dequeue();
    for (; !entry.has_value(); entry = queues.try_dequeue()) {
      require(++rounds <= tickets, "a round fails only because another ticket was redeemed");
    }
    item* const taken = entry->item;
    require(taken->is_made == 1, "what was enqueued is whole");
    ++taken->times_taken;
  }
  void check(int entries) {
    for (int i = 0; i < entries; ++i) {
      require(items[i].times_taken == 1, "each entry was taken once");
    }
    require(queues.size() == 0, "none is left");
  }
};

/// Tickets run anywhere, once their entry is there: here on the thread that enqueued.
const scenario two("locality queues: two threads, entries of two homes", {.sample_preemptions = 3}, [] {
  market m;
  threads({[&] {
             m.enqueue(left, 0);
             m.redeem(2);
           },
           [&] {
             m.enqueue(right, 1);
             m.redeem(2);
           }});
  m.check(2);
});

/// Between its looks at two queues, entries come and go behind a ticket's back: it needs another round. [L3]
const scenario three("locality queues: tickets of three threads", {.preemptions = 3, .sample_preemptions = 1}, [] {
  market m;
  m.enqueue(right, 0);
  threads({[&] {
             m.enqueue(left, 1);
             m.redeem(3);
           },
           [&] { m.redeem(3); },
           [&] {
             m.enqueue(right, 2);
             m.redeem(3);
           }});
  m.check(3);
});

/// As a program calls it.
const scenario waiting("locality queues: a wait for a ticket", {}, [] {
  market m;
  m.enqueue(left, 0);
  const auto ticket = [&] { ++m.queues.dequeue().item->times_taken; };
  threads({ticket, [&] {
             m.enqueue(right, 1);
             ticket();
           }});
  m.check(2);
});

const scenario tried("locality queues: one round", {}, [] {
  market m;
  m.enqueue(left, 0);
  m.enqueue(right, 1);
  threads({[&] { m.redeem(2); }, [&] { m.redeem(2); }});
  require(!m.queues.try_dequeue().has_value(), "both are taken");
  m.check(2);
});

}  // namespace
