// What a thread takes up while it waits inside a task, who it is to observers of the arena that it enters, and whose
// child a context becomes in a task that has no context of its own.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <atomic>
#include <memory>
#include <thread>

#include "unit/common/await.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

using homing::testing::await;

using tbb::task_arena;
using tbb::task_group;

/// A wait that others end.
class open_wait {
 public:
  void wait() { tbb::detail::d1::wait(wait_, context_); }
  void end() { wait_.release(); }

 private:
  tbb::detail::d1::wait_context wait_{1};
  tbb::task_group_context context_;
};

/// A task that waits may hold what the enqueued one needs, so the enqueued one must not run on top of it. Two threads:
/// one runs a task of the inner group for a while, the other one waits for it inside a task.
TEST(nested_waits, run_no_enqueued_task) {
  for (int round = 0; round < 100; ++round) {
    task_arena arena(2, 2);  // no worker helps
    open_wait outermost;
    std::atomic<bool> in_outermost{false};
    std::thread other([&] {
      arena.execute([&] {
        in_outermost = true;
        outermost.wait();
      });
    });
    await("the other thread", [&] { return in_outermost.load(); });
    std::atomic<bool> nested{false};
    std::atomic<bool> ran{false};
    arena.execute([&] {
      task_group outer;
      outer.run_and_wait([&] {
        static thread_local bool waits_inside;
        waits_inside = true;
        task_group inner;
        std::atomic<bool> taken{false};
        std::atomic<bool> enqueued{false};
        inner.run([&] {
          taken = true;
          await("the enqueued task", [&] { return enqueued.load(); });
          for (int i = 0; i < 2000 && !ran; ++i) std::this_thread::yield();
        });
        await("the other thread to take the task", [&] { return taken.load(); });
        arena.enqueue([&] {
          nested = waits_inside;
          ran = true;
        });
        enqueued = true;
        inner.wait();
        waits_inside = false;
      });
    });
    await("the enqueued task, by the thread whose wait is its outermost one", [&] { return ran.load(); });
    outermost.end();
    other.join();
    ASSERT_FALSE(nested) << "in round " << round;
  }
}

/// Except what somebody waits for in execute(): no thread has a place for him in the arena, so a waiting one does it.
TEST(nested_waits, run_what_is_delegated_by_execute) {
  for (int round = 0; round < 200; ++round) {
    task_arena arena(1, 1);
    std::atomic<bool> inside{false};
    open_wait nested;
    std::thread delegating([&] {
      await("the thread inside", [&] { return inside.load(); });
      arena.execute([&] { nested.end(); });
    });
    arena.execute([&] {
      task_group outer;
      outer.run_and_wait([&] {
        inside = true;
        nested.wait();
      });
    });
    delegating.join();
  }
}

/// Tasks that were spawned and those that were resumed are for a nested wait, too.
TEST(nested_waits, run_spawned_and_resumed_tasks) {
  for (int round = 0; round < 200; ++round) {
    task_arena arena(1, 1);
    arena.execute([] {
      task_group outer;
      outer.run_and_wait([] {
        task_group inner;
        std::atomic<int> runs{0};
        inner.run([&] {
          tbb::task::suspend([](tbb::task::suspend_point point) { tbb::task::resume(point); });
          ++runs;
        });
        inner.run([&] { ++runs; });
        EXPECT_EQ(inner.wait(), tbb::complete);
        EXPECT_EQ(runs, 2);
      });
    });
  }
}

/// How many waits a worker piles up hangs on its stack, and not on how many tasks are in sight: of those that it had
/// stolen at once it would run more, in the place of the one where it should have stopped.
TEST(nested_waits, go_as_deep_whether_many_tasks_are_there_or_few) {
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  task_group held;
  task_group work;
  std::atomic<int> ran{0};
  task_arena arena(2);
  const auto spawn = [&](int count) {
    for (int i = 0; i < count; ++i) {
      work.run([&] {
        volatile char used[1000]{};
        static_cast<void>(used);
        ++ran;
        held.wait();
      });
    }
  };
  constexpr int many = 10'000;
  int depth = 0;
  arena.execute([&] {
    held.run_and_wait([&] {
      spawn(many);
      await("the worker deep in its stack", [&] { return ran >= 100 && homing::testing::all_workers_rest(); });
      depth = ran;
    });
    work.wait();
  });
  ASSERT_EQ(ran, many);
  ASSERT_LT(depth, many);
  ran = 0;
  arena.execute([&] {
    held.run_and_wait([&] {
      spawn(depth - 1);
      await("as many tasks as before", [&] { return ran == depth - 1; });
    });
    work.wait();
  });
  EXPECT_EQ(ran, depth - 1);
}

class noting_observer : public tbb::task_scheduler_observer {
 public:
  explicit noting_observer(task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~noting_observer() override { observe(false); }
  noting_observer(const noting_observer&) = delete;
  noting_observer& operator=(const noting_observer&) = delete;
  void on_scheduler_entry(bool is_worker) override { ++(is_worker ? worker_entries : external_entries); }
  void on_scheduler_exit(bool is_worker) override { ++(is_worker ? worker_exits : external_exits); }

  std::atomic<int> worker_entries{0};
  std::atomic<int> worker_exits{0};
  std::atomic<int> external_entries{0};
  std::atomic<int> external_exits{0};
};

/// By execute() everybody enters as the application does, a worker of another arena as well.
TEST(observer_of_execute, sees_no_worker_in_one_that_comes_by_execute) {
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  task_arena from(2, 1);
  task_arena to(1);
  to.initialize();
  noting_observer observer(to);
  constexpr int visits = 100;
  for (int visit = 1; visit <= visits; ++visit) {
    std::atomic<bool> done{false};
    from.enqueue([&] {
      to.execute([] {});
      done = true;
    });
    await("the worker", [&] { return done.load(); });
    EXPECT_EQ(observer.external_entries, visit);
  }
  EXPECT_EQ(observer.external_exits, visits);
  EXPECT_EQ(observer.worker_entries, 0);
  EXPECT_EQ(observer.worker_exits, 0);
}

TEST(observer_of_an_arena, observes_until_the_arena_has_gone) {
  auto arena = std::make_unique<task_arena>(2);
  noting_observer observer(*arena);
  arena->execute([] {});
  EXPECT_TRUE(observer.is_observing());
  arena.reset();
  await("the end of the observation with the arena", [&] { return !observer.is_observing(); });
}

/// An enqueued task has no context but the arena's own, which ends with the arena; a context that is first used there
/// is nobody's child.
TEST(contexts, first_used_in_an_enqueued_task_are_isolated) {
  for (int round = 0; round < 100; ++round) {
    tbb::task_group_context context;
    std::atomic<bool> done{false};
    {
      task_arena arena(2);
      arena.enqueue([&] {
        tbb::parallel_for(
            0, 4, [](int) {}, context);
        tbb::task::current_context()->cancel_group_execution();
        EXPECT_FALSE(context.is_group_execution_cancelled());
        tbb::parallel_for(
            0, 4, [&](int) { EXPECT_FALSE(tbb::is_current_task_group_canceling()); }, context);
        done = true;
      });
      await("the enqueued task", [&] { return done.load(); });
    }
    tbb::task_group_context later;  // its cancellation looks at all contexts there are
    tbb::parallel_for(
        0, 4, [&](int) { later.cancel_group_execution(); }, later);
    ASSERT_FALSE(context.is_group_execution_cancelled());
  }
}

TEST(contexts, first_used_in_a_task_of_a_group_are_its_children) {
  task_group group;
  tbb::task_group_context context;
  EXPECT_EQ(group.run_and_wait([&] {
    tbb::parallel_for(
        0, 4, [](int) {}, context);
    group.cancel();
    EXPECT_TRUE(context.is_group_execution_cancelled());
  }),
            tbb::canceled);
}

}  // namespace
