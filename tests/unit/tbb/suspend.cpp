// Suspended tasks: a stack that waits, and was left for another one, still runs what only it may run.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"

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

/// A stack that was left in a wait keeps its arena: everybody else leaves, and its memory is used anew. [U9]
TEST(suspend, a_stack_that_was_left_in_a_wait_keeps_its_arena) {
  for (int round = 0; round < 50; ++round) {
    tbb::task::suspend_point point{};
    std::atomic<bool> suspended{false};
    std::atomic<bool> resumed_ended{false};
    std::atomic<bool> waits{false};
    std::atomic<bool> waiter_ended{false};
    tbb::task_group_context context;
    tbb::detail::d1::wait_context wait(1);
    auto arena = std::make_unique<tbb::task_arena>(2, 1);
    arena->enqueue([&] {  // leaves its worker's own stack
      tbb::task::suspend([&](tbb::task::suspend_point p) {
        point = p;
        suspended = true;
      });
      resumed_ended = true;
    });
    await("the first task to suspend", [&] { return suspended.load(); });
    arena->enqueue([&] {  // on a coroutine
      waits = true;
      tbb::detail::d1::wait(wait, context);
      waiter_ended = true;
    });
    await("the second task to wait", [&] { return waits.load(); });
    for (int i = 0; i < 100 * (round % 5); ++i) {
      std::this_thread::yield();
    }
    arena.reset();
    tbb::task::resume(point);
    await("the first task's end", [&] { return resumed_ended.load(); });
    for (int i = 0; i < 100 * (round % 7); ++i) {  // so that the worker has left, now and then
      std::this_thread::yield();
    }
    std::vector<std::unique_ptr<unsigned char[]>> junk;
    for (std::size_t bytes = 256; bytes < 16384; bytes += 128) {
      junk.push_back(std::make_unique<unsigned char[]>(bytes));
      std::fill_n(junk.back().get(), bytes, static_cast<unsigned char>(0x5A));
    }
    wait.release();
    await("the second task's end", [&] { return waiter_ended.load(); });
  }
}

/// No worker may ever come by itself, and everybody has left: a stack that may go on gets one. [A20]
TEST(suspend, a_stack_goes_on_in_an_arena_that_has_no_workers) {
  for (int round = 0; round < 50; ++round) {
    tbb::task::suspend_point point{};
    std::atomic<bool> suspended{false};
    std::atomic<bool> ended{false};
    tbb::task_arena arena(1);
    arena.enqueue([&] {  // a mandatory worker's
      tbb::task::suspend([&](tbb::task::suspend_point p) {
        point = p;
        suspended = true;
      });
      ended = true;
    });
    await("the task to suspend", [&] { return suspended.load(); });
    arena.execute([] {});
    tbb::task::resume(point);
    await("the task to go on", [&] { return ended.load(); });
  }
}

/// A stack that only helps, waiting for nothing, is left for one that may go on, and goes on itself afterwards. [U9]
TEST(suspend, a_stack_that_empties_its_arena_is_left_and_comes_back) {
  tbb::task_arena arena(1);
  tbb::task::suspend_point own{};
  tbb::task::suspend_point other{};
  std::atomic<int> ended{0};
  std::thread inside([&] {
    arena.execute([&] {
      tbb::task_group group;
      group.run([&] {  // third: on a second coroutine
        tbb::task::resume(other);
        tbb::detail::r1::wait(arena);
        EXPECT_GE(ended, 1);
        ++ended;
        tbb::task::resume(own);
      });
      group.run([&] {  // second: on a coroutine
        tbb::task::suspend([&](tbb::task::suspend_point p) { other = p; });
        ++ended;
      });
      group.run([&] {  // first: on the thread's own stack
        tbb::task::suspend([&](tbb::task::suspend_point p) { own = p; });
        ++ended;
      });
      group.wait();
    });
  });
  await("all three tasks", [&] { return ended == 3; });
  inside.join();
}

/// Everybody has left the arena, and the limit allows no worker: one that is mandatory comes for the stack. [A20]
TEST(suspend, a_stack_that_is_resumed_under_a_limit_of_one_goes_on_in_a_deserted_arena) {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_arena arena(4);
  tbb::task_group waited_for;
  tbb::task_group left;
  std::atomic<tbb::task::suspend_point> first{nullptr};
  std::atomic<tbb::task::suspend_point> second{nullptr};
  std::atomic<bool> goes_on{false};
  std::thread resumer([&] {
    await("both tasks to be suspended", [&] { return first.load() != nullptr && second.load() != nullptr; });
    tbb::task::resume(first);
  });
  arena.execute([&] {
    left.run([&] {
      tbb::task::suspend([&](tbb::task::suspend_point p) { second = p; });
      goes_on = true;
    });
    waited_for.run([&] { tbb::task::suspend([&](tbb::task::suspend_point p) { first = p; }); });
    waited_for.wait();
  });
  resumer.join();
  tbb::task::resume(second);
  await("the stack that was left", [&] { return goes_on.load(); });
  arena.execute([&] { left.wait(); });
}

/// [U10] As on stock: in the task, on its stack, under its context.
TEST(suspend, the_callback_is_a_part_of_the_task_that_suspends) {
  tbb::task_group group;
  bool went_on = false;
  group.run_and_wait([&] {
    const tbb::task_group_context* const context = tbb::task::current_context();
    const auto here = reinterpret_cast<std::intptr_t>(__builtin_frame_address(0));
    tbb::task::suspend([&](tbb::task::suspend_point p) {
      EXPECT_EQ(tbb::task::current_context(), context);
      const auto there = reinterpret_cast<std::intptr_t>(__builtin_frame_address(0));
      EXPECT_LT(std::abs(here - there), 1 << 16) << "bytes between the two frames";
      tbb::task::resume(p);
    });
    went_on = true;
  });
  EXPECT_TRUE(went_on);
}

TEST(suspend, what_the_callback_throws_leaves_suspend) {
  tbb::task_group group;
  bool went_on = false;
  group.run_and_wait([&] {
    EXPECT_THROW(tbb::task::suspend([](tbb::task::suspend_point) { throw std::runtime_error("no reader"); }),
                 std::runtime_error);
    EXPECT_THROW(tbb::task::suspend([](tbb::task::suspend_point p) {
                   tbb::task::resume(p);
                   throw std::runtime_error("no reader");
                 }),
                 std::runtime_error);
    std::atomic<bool> resumed{false};
    std::thread resumer;
    tbb::task::suspend([&](tbb::task::suspend_point p) {
      resumer = std::thread([&resumed, p] {
        resumed = true;
        tbb::task::resume(p);
      });
    });
    EXPECT_TRUE(resumed) << "not by the resume of a suspension that did not take place";
    resumer.join();
    went_on = true;
  });
  EXPECT_TRUE(went_on);
}

/// The resume comes before the stack is left, while the stack runs other tasks, and may move to another thread.
TEST(suspend, a_callback_may_wait_and_suspend_itself) {
  const tbb::global_control four(tbb::global_control::max_allowed_parallelism, 4);
  tbb::task_arena arena(4);
  std::atomic<int> went_on{0};
  constexpr int tasks = 200;
  arena.execute([&] {
    tbb::parallel_for(
        0, tasks,
        [&](int i) {
          tbb::task::suspend([&](tbb::task::suspend_point p) {
            if (i % 2 == 0) {
              tbb::task::resume(p);
            }
            tbb::task::suspend([](tbb::task::suspend_point inner) { tbb::task::resume(inner); });
            std::atomic<int> turns{0};
            tbb::parallel_for(0, 16, [&](int) {
              tbb::task::suspend([](tbb::task::suspend_point innermost) { tbb::task::resume(innermost); });
              ++turns;
            });
            EXPECT_EQ(turns, 16);
            if (i % 2 != 0) {
              tbb::task::resume(p);
            }
          });
          ++went_on;
        },
        tbb::simple_partitioner());
  });
  EXPECT_EQ(went_on, tasks);
}

TEST(suspend, a_stack_has_what_a_small_function_needs_however_little_is_asked_for) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{16384}}) {
    const tbb::global_control stack(tbb::global_control::thread_stack_size, bytes);
    EXPECT_EQ(tbb::global_control::active_value(tbb::global_control::thread_stack_size), bytes);
    int went_on = 0;
    tbb::task_arena arena(1);
    arena.execute([&] {
      tbb::task::suspend([](tbb::task::suspend_point p) { tbb::task::resume(p); });
      ++went_on;
    });
    EXPECT_EQ(went_on, 1);
  }
}

TEST(suspend, a_stack_that_cannot_be_had_is_an_exception) {
  const tbb::global_control stack(tbb::global_control::thread_stack_size, std::numeric_limits<std::size_t>::max());
  tbb::task_arena arena(1);
  bool was_called = false;
  const auto suspend = [&] {
    tbb::task::suspend([&](tbb::task::suspend_point p) {
      was_called = true;
      tbb::task::resume(p);
    });
  };
  EXPECT_THROW(arena.execute(suspend), std::bad_alloc);
  EXPECT_FALSE(was_called);
}

}  // namespace
