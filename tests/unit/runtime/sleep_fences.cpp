// No task waits while a thread that could take it sleeps: each race of the sleep protocol, on the real scheduler,
// driven so that both sides come within nanoseconds of each other. A lost wake-up is a hang, and says which.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <array>
#include <cstdint>
#include <future>
#include <limits>
#include <thread>

#include "runtime/arena/arena_access.hpp"
#include "unit/common/litmus.hpp"

namespace {

namespace sync = homing::sync;
using homing::testing::await_spinning;
using homing::testing::dawdle;
using homing::testing::meeting;
using homing::testing::time_budget;

/// The number that the newest task has left behind.
struct alignas(sync::cache_line_bytes) mark {
  sync::atomic<unsigned> value{0};
  void set(unsigned round) noexcept { value.store(round, sync::release); }
  void await_round(const char* missing, unsigned round) const {
    await_spinning(missing, [&] { return value.load(sync::acquire) == round; });
  }
};

/// Steps between two pushes: from none to longer than a thread looks for work before it sleeps.
unsigned varied(unsigned round, unsigned bound) { return round * 2654435761U % bound; }

/// Holds a slot of the arena and takes no part.
class one_who_stays {
 public:
  explicit one_who_stays(tbb::task_arena& arena)
      : thread_([this, &arena] {
          arena.execute([this] {
            inside_.set_value();
            over_.get_future().wait();
          });
        }) {
    inside_.get_future().wait();
  }
  ~one_who_stays() {
    over_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> inside_;
  std::promise<void> over_;
  std::thread thread_;
};

using leave = tbb::task_arena::leave_policy;

/// [S1] in a wait, [S2]. One thread sleeps in a wait inside the arena, another one spawns and leaves the task to it. No
/// workers, so that nobody else mends it.
TEST(sleep_fences, a_spawn_and_a_thread_that_falls_asleep_in_a_wait) {
  constexpr unsigned rounds = 150'000;
  tbb::task_arena arena(2, 2, tbb::task_arena::priority::normal, leave::fast);
  tbb::detail::d1::wait_context forever(1);
  tbb::task_group_context context;
  mark inside;
  std::thread sleeper([&] {
    arena.execute([&] {
      inside.set(1);
      tbb::detail::d1::wait(forever, context);
    });
  });
  inside.await_round("the thread that is to sleep", 1);
  mark done;
  time_budget budget;
  arena.execute([&] {
    tbb::task_group group;
    for (unsigned round = 1; round <= rounds && budget.left(); ++round) {
      group.run([&, round] { done.set(round); });
      done.await_round("a spawned task, which the sleeper in the arena should have been woken for", round);
      dawdle(varied(round, 8000));
    }
    group.wait();
  });
  forever.release();
  sleeper.join();
}

/// [S1] of a worker between arenas, [A3] and [S3] on its way there. The external thread enqueues and takes no part.
TEST(sleep_fences, an_enqueue_and_a_worker_that_leaves) {
  constexpr unsigned rounds = 200'000;
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  tbb::task_arena arena(2, 1, tbb::task_arena::priority::normal, leave::fast);
  mark done;
  time_budget budget;
  for (unsigned round = 1; round <= rounds && budget.left(); ++round) {
    arena.enqueue([&done, round] { done.set(round); });
    done.await_round("an enqueued task, which the leaving worker should have come back for", round);
    dawdle(varied(round, 12000));
  }
}

/// The same with a spawn: the external thread is in the arena, and its deque has the task.
TEST(sleep_fences, a_spawn_and_a_worker_that_leaves) {
  constexpr unsigned rounds = 200'000;
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  tbb::task_arena arena(2, 1, tbb::task_arena::priority::normal, leave::fast);
  mark done;
  time_budget budget;
  arena.execute([&] {
    tbb::task_group group;
    for (unsigned round = 1; round <= rounds && budget.left(); ++round) {
      group.run([&done, round] { done.set(round); });
      done.await_round("a spawned task, which the leaving worker should have come back for", round);
      dawdle(varied(round, 12000));
    }
    group.wait();
  });
}

/// [S1] of a worker, where neither [A3] nor a new demand mends it: another worker stays in the arena with a long task.
TEST(sleep_fences, a_spawn_and_a_worker_that_leaves_another_behind) {
  constexpr unsigned rounds = 250'000;
  const tbb::global_control three(tbb::global_control::max_allowed_parallelism, 3);
  tbb::task_arena arena(3, 1, tbb::task_arena::priority::normal, leave::fast);
  std::promise<void> long_begins;
  std::promise<void> long_ends;
  arena.enqueue([&] {
    long_begins.set_value();
    long_ends.get_future().wait();
  });
  long_begins.get_future().wait();
  mark done;
  time_budget budget;
  arena.execute([&] {
    tbb::task_group group;
    for (unsigned round = 1; round <= rounds && budget.left(); ++round) {
      group.run([&done, round] { done.set(round); });
      done.await_round("a spawned task, which the worker that leaves should have seen", round);
      dawdle(varied(round, 12000));
    }
    group.wait();
  });
  long_ends.set_value();
}

/// Stores to lines that another CPU has written last: until it has given them up, what the thread stores next is not
/// seen either, while its loads go ahead. Written from a copy constructor, they come after all locked instructions of a
/// spawn.
class slow_stores {
 public:
  void write(unsigned value) noexcept {
    for (mark& m : lines_) {
      m.value.store(value, sync::relaxed);
    }
  }

 private:
  std::array<mark, 32> lines_;
};

template <typename Body>
class pushed_behind_stores {
 public:
  pushed_behind_stores(slow_stores& stores, unsigned round, Body body) : stores_(stores), round_(round), body_(body) {}
  pushed_behind_stores(const pushed_behind_stores& other) noexcept
      : stores_(other.stores_), round_(other.round_), body_(other.body_) {
    stores_.write(round_);
  }
  void operator()() const { body_(); }

 private:
  slow_stores& stores_;
  unsigned round_;
  Body body_;
};

using pace = homing::scheduler::searchers::look_pace;
constexpr pace searchers_pay{0, 0};
constexpr pace pushers_pay{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max()};

/// A task alone, and while its thread looks for the next, two that need each other: who pushed the second may have
/// relied on that thread, which takes the first, and must call another for the second.
class task_then_pair {
 public:
  explicit task_then_pair(pace p) : arena_(3, 1, tbb::task_arena::priority::normal, leave::fast) {
    arena_.initialize();
    inside().search().set_look_pace(p);
  }

  void run(unsigned rounds) {
    const tbb::global_control three(tbb::global_control::max_allowed_parallelism, 3);
    time_budget budget;
    arena_.execute([&] {
      tbb::task_group group;
      for (unsigned round = 1; round <= rounds && budget.left(); ++round) {
        await_spinning("the sleep of both workers", [&] { return !inside().has_workers(); });
        group.run([this, round] {
          stores_.write(round);
          single_.set(round);
        });
        single_.await_round("a task alone", round);
        dawdle(varied(round, 4000));
        group.run([this, round] { both_.meet(round); });
        dawdle(varied(7 * round, 16U << round % 13));  // how soon the thread meets the first depends on the machine
        group.run(pushed_behind_stores(stores_, round, [this, round] {
          both_.meet(round);
          done_.set(round);
        }));
        done_.await_round("the second of two tasks that run together", round);
      }
      group.wait();
    });
  }

 private:
  homing::scheduler::arena& inside() { return *homing::scheduler::arena_access::arena_of(arena_); }

  tbb::task_arena arena_;
  slow_stores stores_;
  mark single_;
  meeting both_;
  mark done_;
};

/// [S3]. [A11]: so must an allotment that falls between the two.
TEST(sleep_fences, a_searcher_that_takes_a_task_calls_for_the_next) {
  constexpr unsigned rounds = 120'000;
  task_then_pair(searchers_pay).run(rounds);
}

/// [S9]: the same where searchers stop so often that pushers pass the fence.
TEST(sleep_fences, a_busy_searcher_that_takes_a_task_calls_for_the_next) {
  constexpr unsigned rounds = 120'000;
  task_then_pair(pushers_pay).run(rounds);
}

/// [A2]: of three threads, one stays in an arena of two slots and the others share the second one. All slots are
/// reserved, so that no worker comes to run what a thread has left for it.
TEST(sleep_fences, a_freed_slot_and_a_thread_that_waits_for_one) {
  constexpr unsigned rounds = 800'000;
  tbb::task_arena arena(2, 2);
  one_who_stays first(arena);
  meeting start;
  const auto visit = [&](unsigned steps) {
    time_budget budget;
    for (unsigned round = 1; round <= rounds && start.meet(round, budget); ++round) {
      dawdle(varied(round, 100));
      arena.execute([&] { dawdle(varied(round, steps)); });
    }
  };
  std::thread other(visit, 400);
  visit(300);
  other.join();
}

/// [A7]: the only slot for workers is held by an application thread that leaves while a task is enqueued.
TEST(sleep_fences, a_freed_slot_and_a_worker_that_is_wanted) {
  constexpr unsigned rounds = 40'000;
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  tbb::task_arena arena(2, 1);
  one_who_stays first(arena);
  meeting start;
  mark entered;
  std::thread visitor([&] {
    time_budget budget;
    for (unsigned round = 1; round <= rounds && start.meet(round, budget); ++round) {
      arena.execute([&] {
        entered.set(round);
        dawdle(varied(round, 8000));
      });
    }
  });
  mark done;
  time_budget budget;
  for (unsigned round = 1; round <= rounds && start.meet(round, budget); ++round) {
    entered.await_round("the visitor", round);
    dawdle(varied(7 * round, 6000));
    arena.enqueue([&done, round] { done.set(round); });
    done.await_round("an enqueued task, for which a worker was wanted while no slot was free", round);
  }
  visitor.join();
}

}  // namespace
