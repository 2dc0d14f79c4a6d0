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
  void redeem() {
    item* const taken = queues.dequeue().item;
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
             m.redeem();
           },
           [&] {
             m.enqueue(right, 1);
             m.redeem();
           }});
  m.check(2);
});

/// Between its looks at two queues, entries come and go behind a ticket's back: it needs another round. [L3]
const scenario three("locality queues: tickets of three threads", {.preemptions = 3, .sample_preemptions = 1}, [] {
  market m;
  m.enqueue(right, 0);
  threads({[&] {
             m.enqueue(left, 1);
             m.redeem();
           },
           [&] { m.redeem(); },
           [&] {
             m.enqueue(right, 2);
             m.redeem();
           }});
  m.check(3);
});

const scenario tried("locality queues: one round", {}, [] {
  market m;
  m.enqueue(left, 0);
  m.enqueue(right, 1);
  threads({[&] { m.redeem(); }, [&] { m.redeem(); }});
  require(!m.queues.try_dequeue().has_value(), "both are taken");
  m.check(2);
});

}  // namespace
