/// Fork lane: each branch runs once, whole, and none is private unseen while a thread sleeps. Method: every execution
/// of an owner, thieves and sleepers; docs/protocols/fork_lane.md.
#include "tbb_atomics.hpp"

#include "runtime/task/lane.cpp"
#undef atomic

#include "engine/model.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using detail::fork_branch;
using scheduler::lane;
using sync::acquire;
using sync::relaxed;
using sync::release;

void never_called(fork_branch& /*self*/, bool /*cancelled*/) noexcept {}

/// A lane looks at nothing of its owner's.
alignas(128) std::byte some_thread[128];
scheduler::thread_state& nobody() { return *reinterpret_cast<scheduler::thread_state*>(some_thread); }
constexpr detail::fork_calls no_calls{};

struct branch : fork_branch {
  branch() : fork_branch(&never_called) {}
  sync::plain<int> is_made = 0;
  sync::plain<int> times_run = 0;
  sync::atomic<bool> is_done = false;

  void run_once() {
    require(is_made == 1, "what was pushed is whole");
    ++times_run;
  }
  void run_elsewhere() {
    run_once();
    is_done.store(true, release);  // as the end of a wait context
  }
};

/// An owner's forks, with the library's side of them in small: what is given lies in one place, for whoever comes
/// first.
struct forks {
  sync::atomic<unsigned> unjoined{0};
  lane own{nobody(), unjoined, no_calls};
  sync::atomic<branch*> given = nullptr;

  forks() { open(); }
  void open() { static_cast<void>(own.take_ask()); }

  static branch& made(fork_branch& b) { return static_cast<branch&>(b); }

  void push(branch& b, std::size_t& at) {
    b.is_made = 1;
    if (own.push(b, at)) {
      return;
    }
    if (own.is_full()) {
      require(own.make_room(), "a model has memory");
    }
    if (own.take_ask()) {
      if (fork_branch* const oldest = own.remove_oldest()) {
        oldest->run.store(nullptr, relaxed);
        branch* none = nullptr;
        // One task at a time is enough.
        if (!given.compare_exchange_strong(none, &made(*oldest), sync::acq_rel, relaxed)) {
          made(*oldest).run_elsewhere();
        }
      }
    }
  }
  void join(branch& b, std::size_t at) {
    if (own.try_pop(b, at) || (b.run.load(relaxed) != nullptr && own.has_back(at))) {
      b.run_once();
      return;
    }
    own.forget_given();
    require(unjoined.load(relaxed) != 0, "what is joined here has been counted as it left the lane");
    unjoined.fetch_sub(1, relaxed);
    branch* mine = &b;
    if (given.compare_exchange_strong(mine, nullptr, sync::acq_rel, relaxed)) {
      b.run_elsewhere();
    }
    while (!b.is_done.load(acquire)) {
      sync::cpu_relax();
    }
  }

  /// A thief's round.
  void steal() {
    if (branch* const b = given.exchange(nullptr, sync::acq_rel)) {
      b->run_elsewhere();
      return;
    }
    branch* taken = nullptr;
    static_cast<void>(own.take([&](fork_branch& b) {
      taken = &made(b);
      b.run.store(nullptr, relaxed);
      return true;
    }));
    if (taken != nullptr) {
      taken->run_elsewhere();
    }
  }
};

void require_each_ran_once(std::initializer_list<branch*> all) {
  for (branch* const b : all) {
    require(b->times_run == 1, "each branch runs once");
  }
}

const scenario one_fork("fork lane: a fork and a join, and a thief", {}, [] {
  forks f;
  branch a;
  threads({[&] {
             std::size_t at = 0;
             f.push(a, at);
             f.join(a, at);
           },
           [&] { f.steal(); }});
  require_each_ran_once({&a});
});

const scenario nested("fork lane: two forks, one in the other, and a thief", {.sample_preemptions = 3}, [] {
  forks f;
  branch a;
  branch b;
  threads({[&] {
             std::size_t at_a = 0;
             std::size_t at_b = 0;
             f.push(a, at_a);
             f.push(b, at_b);
             f.join(b, at_b);
             f.join(a, at_a);
           },
           [&] { f.steal(); }});
  require_each_ran_once({&a, &b});
});

/// A place serves again: the thief may find another branch there than the one it has seen.
const scenario again("fork lane: two forks, one after the other, and a thief", {.sample_preemptions = 3}, [] {
  forks f;
  branch a;
  branch b;
  threads({[&] {
             std::size_t at = 0;
             f.push(a, at);
             f.join(a, at);
             f.push(b, at);
             f.join(b, at);
           },
           [&] { f.steal(); }});
  require_each_ran_once({&a, &b});
});

const scenario asked("fork lane: an owner that is asked, and a thief", {.preemptions = 4, .sample_preemptions = 2}, [] {
  forks f;
  branch a;
  branch b;
  threads({[&] {
             std::size_t at_a = 0;
             std::size_t at_b = 0;
             f.push(a, at_a);
             f.push(b, at_b);
             f.join(b, at_b);
             f.join(a, at_a);
           },
           [&] {
             f.own.ask();
             f.steal();
           }});
  require_each_ran_once({&a, &b});
});

const scenario two_thieves("fork lane: two forks, and two thieves", {.preemptions = 2, .sample_preemptions = 1}, [] {
  forks f;
  branch a;
  branch b;
  threads({[&] {
             std::size_t at_a = 0;
             std::size_t at_b = 0;
             f.push(a, at_a);
             f.push(b, at_b);
             f.join(b, at_b);
             f.join(a, at_a);
           },
           [&] { f.steal(); }, [&] { f.steal(); }});
  require_each_ran_once({&a, &b});
});

const scenario growth("fork lane: a third fork needs a larger array", {.preemptions = 3, .sample_preemptions = 1}, [] {
  forks f;
  branch all[3];
  threads({[&] {
             std::size_t at[3];
             for (int i = 0; i < 3; ++i) {
               f.push(all[i], at[i]);
             }
             for (int i = 2; i >= 0; --i) {
               f.join(all[i], at[i]);
             }
           },
           [&] { f.steal(); }});
  require_each_ran_once({&all[0], &all[1], &all[2]});
});

/// [F4] A thief reads of the owner whether the branch fits it. Once the owner has the branch back, it may change that.
const scenario refused("fork lane: a thief that refuses a branch, and an owner that goes on", {}, [] {
  forks f;
  branch a;
  sync::plain<int> isolation = 1;
  threads({[&] {
             std::size_t at = 0;
             f.push(a, at);
             f.join(a, at);
             isolation = 2;
           },
           [&] {
             static_cast<void>(f.own.take([&](const fork_branch& /*b*/) {
               require(isolation == 1, "the owner has not gone on while a thief is at its branch");
               return false;
             }));
           }});
  require_each_ran_once({&a});
});

/// [F6] Either the push must call the library, or the sleeper's last look sees the branch.
const scenario sleeper("fork lane: a push, and a thread that goes to sleep", {}, [] {
  forks f;
  branch a;
  bool calls = false;
  bool seen = false;
  threads({[&] {
             std::size_t at = 0;
             calls = !f.own.push(a, at);
           },
           [&] {
             f.own.ask();
             sync::heavy_fence();
             seen = f.own.has_private();
           }});
  require(calls || seen, "no branch is private unseen while a thread sleeps");
});

/// The same while a thief takes the branch for a moment, and leaves it.
const scenario doubt("fork lane: a thief that leaves what it has looked at, and a thread that goes to sleep", {}, [] {
  forks f;
  branch a;
  std::size_t at = 0;
  static_cast<void>(f.own.push(a, at));
  bool seen = false;
  threads({[&] { static_cast<void>(f.own.take([](fork_branch&) { return false; })); },
           [&] {
             f.own.ask();
             sync::heavy_fence();
             seen = f.own.has_private();
           }});
  require(seen, "no branch looks taken that is left");
});

/// [F5] Whoever cancels marks first, and asks then.
const scenario cancelled("fork lane: a cancellation, and an owner that answers another ask", {}, [] {
  forks f;
  f.own.ask();
  sync::atomic<bool> mark = false;
  bool seen = false;
  scheduler::all_lanes.store(nullptr, relaxed);  // those of earlier executions are gone
  publish(f.own);
  threads({[&] {
             static_cast<void>(f.own.take_ask());
             seen = mark.load(relaxed);
           },
           [&] {
             mark.store(true, relaxed);
             scheduler::ask_all_lanes();
           }});
  require(seen || f.own.is_asked(), "a cancellation is seen, or asked for again");
});

/// [F5] A thread's first fork makes its lane.
const scenario cancelled_at_first("fork lane: a cancellation, and a thread that makes its lane", {}, [] {
  scheduler::all_lanes.store(nullptr, relaxed);
  sync::atomic<unsigned> unjoined{0};
  std::optional<lane> fresh;
  sync::atomic<bool> mark = false;
  bool seen = false;
  threads({[&] {
             publish(fresh.emplace(nobody(), unjoined, no_calls));
             static_cast<void>(fresh->take_ask());
             seen = mark.load(relaxed);
           },
           [&] {
             mark.store(true, relaxed);
             scheduler::ask_all_lanes();
           }});
  require(seen || fresh->is_asked(), "a cancellation is seen, or asked for");
});

/// Each on the list, and whole.
const scenario two_lanes("fork lane: two threads make their lanes beside a cancellation", {}, [] {
  scheduler::all_lanes.store(nullptr, relaxed);
  sync::atomic<unsigned> unjoined{0};
  std::optional<lane> fresh[2];
  const auto make = [&](int number) {
    publish(fresh[number].emplace(nobody(), unjoined, no_calls));
    static_cast<void>(fresh[number]->take_ask());
  };
  threads({[&] { make(0); }, [&] { make(1); }, [] { scheduler::ask_all_lanes(); }});
  scheduler::ask_all_lanes();
  require(fresh[0]->is_asked() && fresh[1]->is_asked(), "both are asked after that");
});

}  // namespace
