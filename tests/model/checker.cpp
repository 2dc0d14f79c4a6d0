/// The checker itself, on programs that are wrong: each fault must be found and named.
#include "engine/model.hpp"
#include "sync/futex.hpp"
#include "sync/spin_lock.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using sync::acquire;
using sync::relaxed;
using sync::release;

template <std::memory_order Store, std::memory_order Load>
void publish() {
  sync::plain<int> data = 0;
  sync::atomic<bool> flag = false;
  threads({[&] {
             data = 1;
             flag.store(true, Store);
           },
           [&] {
             if (flag.load(Load)) {
               require(data == 1, "what was published is there");
             }
           }});
}
const scenario race("a race by a relaxed store", {.fault = "data race"}, publish<relaxed, acquire>);
const scenario race_load("a race by a relaxed load", {.fault = "data race"}, publish<release, relaxed>);
const scenario no_race("no race by release and acquire", {}, publish<release, acquire>);

void locked_count() {
  sync::plain<int> count = 0;
  sync::spin_lock lock;
  const auto add = [&] {
    const sync::scoped_spin_lock hold(lock);
    ++count;
  };
  threads({add, add, add});
  require(count == 3, "each was counted");
}
const scenario spin("three threads and a spin lock", {}, locked_count);

/// The look at the word and the sleep in two steps: the wake may come in between.
void lost_wake() {
  sync::atomic<std::uint32_t> word = 0;
  sync::atomic<std::uint32_t> bell = 0;
  threads({[&] {
             if (word.load(acquire) == 0) {
               sync::futex_wait(bell, 0);
             }
           },
           [&] {
             word.store(1, release);
             sync::futex_wake(bell, 1);
           }});
}
const scenario lost("a lost wake", {.spurious = 0, .fault = "sleeps on a futex"}, lost_wake);

void kept_wake() {
  sync::atomic<std::uint32_t> word = 0;
  threads({[&] {
             while (word.load(acquire) == 0) {
               sync::futex_wait(word, 0);
             }
           },
           [&] {
             word.store(1, release);
             sync::futex_wake(word, 1);
           }});
}
const scenario kept("a wake that is not lost", {}, kept_wake);

void spins_for_ever() {
  sync::atomic<bool> flag = false;
  threads({[&] {
             while (!flag.load(acquire)) {
               sync::cpu_relax();
             }
           },
           [&] {}});
}
const scenario endless("a loop that nobody ends", {.fault = "spins"}, spins_for_ever);

void two_locks() {
  sync::spin_lock a;
  sync::spin_lock b;
  threads({[&] {
             const sync::scoped_spin_lock first(a);
             const sync::scoped_spin_lock second(b);
           },
           [&] {
             const sync::scoped_spin_lock first(b);
             const sync::scoped_spin_lock second(a);
           }});
}
const scenario deadlock("two locks in two orders", {.fault = "nobody can go on"}, two_locks);

struct node {
  sync::atomic<int> value{1};
};

template <std::memory_order Store>
void pointer() {
  sync::atomic<node*> top = nullptr;
  threads({[&] { top.store(new node, Store); },
           [&] {
             if (node* n = top.load(acquire); n != nullptr) {
               require(n->value.load(relaxed) == 1, "a whole node");
             }
           }});
}
const scenario unpublished("a node that is not published", {.fault = "making"}, pointer<relaxed>);
const scenario published("a node that is published", {}, pointer<release>);

void freed_early() {
  sync::atomic<node*> top = new node;
  threads({[&] { static_cast<void>(top.load(acquire)->value.load(relaxed)); }, [&] { delete top.load(acquire); }});
}
const scenario freed("a node that goes while it is used", {.fault = "an atomic that"}, freed_early);

}  // namespace
