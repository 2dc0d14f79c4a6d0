/// The note that a worker was wanted while no slot was free: work that was pushed meanwhile is found by who pushed it,
/// at a slot that is free after all, or by who freed a slot. Method: executions of pushers and of threads that
/// free slots; docs/protocols/arena.md [A7].
#include "runtime/arena/missed_wake.hpp"
#include "engine/model.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using homing::scheduler::missed_wake;

struct small_arena {
  static constexpr int pushers_max = 2;
  static constexpr int slots = 2;

  missed_wake missed;
  sync::atomic<bool> held[slots]{true, true};
  sync::atomic<bool> work[pushers_max]{};
  sync::plain<bool> called_by_pusher[pushers_max]{};
  sync::atomic<bool> called_by_leaver[pushers_max]{};

  [[nodiscard]] bool has_free_slot() const { return !held[0].load(sync::relaxed) || !held[1].load(sync::relaxed); }
  void push(int number) {
    work[number].store(true, sync::relaxed);
    sync::light_fence();
    if (has_free_slot()) {
      called_by_pusher[number] = true;
      return;
    }
    missed.note();
    called_by_pusher[number] = has_free_slot();
  }
  void leave(int slot) {
    held[slot].store(false, sync::release);
    sync::light_fence();
    if (missed.take()) {
      for (int i = 0; i < pushers_max; ++i) {
        if (work[i].load(sync::relaxed)) {
          called_by_leaver[i].store(true, sync::relaxed);
        }
      }
    }
  }
  void require_called(int number) {
    require(called_by_pusher[number] || called_by_leaver[number].load(sync::relaxed),
            "somebody calls for what was pushed");
  }
};

const scenario one_pusher("missed wake: a pusher, and two that leave", {}, [] {
  small_arena a;
  threads({[&] { a.push(0); }, [&] { a.leave(0); }, [&] { a.leave(1); }});
  a.require_called(0);
});

const scenario two_pushers("missed wake: two pushers, and one that leaves", {.sample_preemptions = 2}, [] {
  small_arena a;
  threads({[&] { a.push(0); }, [&] { a.push(1); }, [&] { a.leave(0); }});
  a.require_called(0);
  a.require_called(1);
});

/// A note is taken while another is made, and a slot is freed in between.
const scenario two_leavers(
    "missed wake: two pushers, and two that leave", {.preemptions = 3, .sample_preemptions = 1}, [] {
      small_arena a;
      threads({[&] { a.push(0); }, [&] { a.push(1); }, [&] { a.leave(0); }, [&] { a.leave(1); }});
      a.require_called(0);
      a.require_called(1);
    });

/// The second push finds a note that may be the first one's.
const scenario noted_again("missed wake: a pusher twice, another, and one that leaves",
                           {.preemptions = 3, .sample_preemptions = 1}, [] {
                             small_arena a;
                             threads({[&] {
                                        a.push(0);
                                        a.push(0);
                                      },
                                      [&] { a.push(1); }, [&] { a.leave(1); }});
                             a.require_called(0);
                             a.require_called(1);
                           });

}  // namespace
