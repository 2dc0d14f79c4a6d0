// Suspended tasks: a stack that waits, and was left for another one, still runs what only it may run.
#include <gtest/gtest.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <thread>

#include "unit/await.hpp"

namespace {

using homing::testing::await;

/// A thread's own stack waits inside isolate(); a coroutine of its waits outside of any isolation and was left when the
/// own stack could go on. A task without isolation, spawned by a thread that is busy otherwise, is for the coroutine,
/// which has no thread then. [U5]
TEST(suspend, a_stack_that_was_left_in_a_wait_is_called_for_tasks_of_its_isolation) {
  constexpr int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    tbb::task_arena arena(3, 3);  // all slots reserved: no worker helps
    tbb::detail::d1::wait_context own_wait(1);
    tbb::detail::d1::wait_context coroutines_wait(1);
    tbb::task::suspend_point point{};
    std::atomic<bool> suspended{false};
    std::atomic<bool> coroutine_waits{false};
    std::atomic<bool> goes_on{false};
    std::atomic<bool> over{false};
    std::thread inside([&] {
      arena.execute([&] {
        tbb::this_task_arena::isolate([&] {
          tbb::task_group group;
          group.run([&] {
            tbb::task::suspend([&](tbb::task::suspend_point p) {
              point = p;
              suspended = true;
            });
            goes_on = true;
          });
          tbb::task_group_context context;
          tbb::detail::d1::wait(own_wait, context);
          group.wait();
        });
      });
      over = true;
    });
    await("the task that suspends", [&] { return suspended.load(); });
    arena.enqueue([&] {
      coroutine_waits = true;
      tbb::task_group_context context;
      tbb::detail::d1::wait(coroutines_wait, context);
    });
    await("the coroutine's task", [&] { return coroutine_waits.load(); });
    tbb::task::resume(point);
    await("the resumed task", [&] { return goes_on.load(); });
    for (int i = 0; i < round; ++i) {  // at once at first: the stack may not be listed yet
      std::this_thread::yield();
    }
    arena.execute([&] {
      tbb::task_group group;
      std::atomic<bool> ran{false};
      group.run([&] {
        ran = true;
        own_wait.release();
        coroutines_wait.release();
      });
      await("the spawned task to be taken", [&] { return ran.load(); });
      group.wait();
    });
    await("the end of both waits, for which a task without isolation must run", [&] { return over.load(); });
    inside.join();
  }
}

/// One thread, and three stacks of it that wait for what its own stack will do, which may go on: the three must not
/// take each other in turn for ever. [U8]
TEST(suspend, stacks_that_wait_let_the_threads_own_stack_go_on) {
  constexpr int rounds = 100;
  constexpr int stacks = 3;
  for (int round = 0; round < rounds; ++round) {
    tbb::task_arena arena(2, 2);
    tbb::detail::d1::wait_context waits[stacks] = {{1}, {1}, {1}};
    tbb::task::suspend_point points[stacks] = {};
    tbb::task::suspend_point own{};
    std::atomic<int> suspended{0};
    std::atomic<bool> all_resumed{false};
    std::atomic<bool> own_resumed{false};
    std::atomic<bool> over{false};
    const auto suspend_at = [&](tbb::task::suspend_point& at) {
      tbb::task::suspend([&](tbb::task::suspend_point p) {
        at = p;
        ++suspended;
      });
    };
    std::thread inside([&] {
      arena.execute([&] {
        tbb::task_group group;
        for (int i = 0; i < stacks; ++i) {
          group.run([&, i] {
            suspend_at(points[i]);
            await("the resumption of all", [&] { return all_resumed.load(); });
            if (!own_resumed.exchange(true)) {
              tbb::task::resume(own);
            }
            tbb::task_group_context context;
            tbb::detail::d1::wait(waits[i], context);
          });
        }
        group.run([&] {  // the first to run, and on the thread's own stack
          suspend_at(own);
          for (auto& wait : waits) {
            wait.release();
          }
        });
        group.wait();
      });
      over = true;
    });
    await("all to be suspended", [&] { return suspended.load() == stacks + 1; });
    for (auto& point : points) {
      tbb::task::resume(point);
    }
    all_resumed = true;
    await("the end of all", [&] { return over.load(); });
    inside.join();
  }
}

}  // namespace
