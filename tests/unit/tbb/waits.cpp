// What a thread that waits may take, and who is called for what: deep in a stack, on top of a task, in isolation. A
// waiter that takes nothing must not be relied on, and one that was called for nothing must hand the call on.
#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "unit/common/await.hpp"
#include "unit/common/sleeps.hpp"

namespace {

using homing::testing::await;
using homing::testing::comes_true;
using homing::testing::sleeps;

/// Calls `body` five of a thread's eight megabytes further down its stack.
[[gnu::noinline]] void deep(const std::function<void()>& body, int kib_left = 5 * 1024) {
  volatile char frame[16 * 1024];
  frame[0] = 1;
  if (kib_left > 0) {
    deep(body, kib_left - 16);
  } else {
    body();
  }
  frame[1] = frame[0];
}

/// A wait that a test ends, so that a thread of an arena waits as long as it likes.
class open_wait {
 public:
  void wait() { tbb::detail::d1::wait(context_, group_); }
  void end() { context_.release(); }

 private:
  tbb::detail::d1::wait_context context_{1};
  tbb::task_group_context group_;
};

/// A thread that sleeps in a wait inside an arena, in some place.
class waiting_thread {
 public:
  template <typename Place>
  waiting_thread(tbb::task_arena& arena, Place&& place)
      : thread_([this, &arena, place] {
          arena.execute([this, &place] {
            place([this] {
              id_ = gettid();
              is_in_ = true;
              wait_.wait();
            });
          });
          is_back_ = true;
        }) {
    await("a thread to begin its wait", [this] { return is_in_.load(); });
  }
  waiting_thread(const waiting_thread&) = delete;
  waiting_thread& operator=(const waiting_thread&) = delete;
  ~waiting_thread() { join(); }
  void end_wait() { wait_.end(); }
  [[nodiscard]] pid_t id() const { return id_; }
  void join() {
    if (thread_.joinable()) {
      await("a thread to come back from its wait", [this] { return is_back_.load(); });
      thread_.join();
    }
  }

 private:
  open_wait wait_;
  std::atomic<bool> is_in_{false};
  std::atomic<bool> is_back_{false};
  pid_t id_ = 0;
  std::thread thread_;
};

constexpr auto here = [](const auto& wait) { wait(); };
constexpr auto from_depth = [](const auto& wait) { deep(wait); };
constexpr auto on_top_of_a_task = [](const auto& wait) {
  tbb::task_group around;
  around.run_and_wait([&] { wait(); });
};
constexpr auto isolated = [](const auto& wait) { tbb::this_task_arena::isolate([&] { wait(); }); };

/// A thread that fills a slot and takes nothing.
class busy_thread {
 public:
  explicit busy_thread(tbb::task_arena& arena)
      : thread_([this, &arena] {
          arena.execute([this] {
            is_in_ = true;
            await("the end of a test", [this] { return may_go_.load(); });
          });
        }) {
    await("a thread to fill a slot", [this] { return is_in_.load(); });
  }
  busy_thread(const busy_thread&) = delete;
  busy_thread& operator=(const busy_thread&) = delete;
  ~busy_thread() {
    may_go_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_in_{false};
  std::atomic<bool> may_go_{false};
  std::thread thread_;
};

/// Lets threads that have just begun a wait fall asleep, now and then: both orders must do.
void pass_time(int round) {
  for (int i = 0; i < round * 20; ++i) {
    std::this_thread::yield();
  }
}

// ---- deep in a stack [S13]

TEST(deep_waiter, leaves_a_spawned_task_to_a_shallow_one) {
  for (int round = 0; round < 50; ++round) {
    tbb::task_arena arena(3, 3);
    waiting_thread shallow(arena, here);
    waiting_thread low(arena, from_depth);
    pass_time(round);
    std::atomic<bool> ran{false};
    arena.execute([&] {
      tbb::task_group group;
      group.run([&] { ran = true; });
      await("the waiter that may steal", [&] { return ran.load(); });
      group.wait();
    });
    shallow.end_wait();
    low.end_wait();
  }
}

TEST(deep_waiter, sleeps_while_there_is_only_what_it_may_not_take) {
  tbb::task_arena arena(2, 2);
  waiting_thread low(arena, from_depth);
  arena.execute([&] {
    tbb::task_group group;
    std::atomic<bool> ran{false};
    group.run([&] { ran = true; });  // nobody but this thread may take it
    await("a thread that sleeps", [&] {
      for (int i = 0; i < 1000; ++i) {
        if (!sleeps(low.id())) {
          return false;
        }
        std::this_thread::yield();
      }
      return true;
    });
    EXPECT_FALSE(ran.load());
    group.wait();
  });
  low.end_wait();
}

TEST(deep_waiter, takes_an_enqueued_task) {
  tbb::task_arena arena(2, 2);
  const busy_thread busy(arena);
  waiting_thread low(arena, from_depth);
  std::atomic<bool> ran{false};
  arena.enqueue([&] { ran = true; });
  await("the enqueued task", [&] { return ran.load(); });
  low.end_wait();
}

TEST(deep_waiter, is_woken_by_the_end_of_a_group_that_another_arena_ends) {
  for (int round = 0; round < 50; ++round) {
    tbb::task_arena arena(2, 2);
    tbb::task_group group;
    auto handle = group.defer([] {});
    std::atomic<int> back{0};
    std::thread shallow([&] {
      arena.execute([&] { group.wait(); });
      ++back;
    });
    std::thread low([&] {
      arena.execute([] {});
      deep([&] { arena.execute([&] { group.wait(); }); });
      ++back;
    });
    pass_time(round);
    arena.enqueue(std::move(handle));
    await("both waiters", [&] { return back == 2; });
    shallow.join();
    low.join();
  }
}

TEST(deep_waiter, comes_into_a_full_arena) {
  tbb::task_arena arena(2, 2);
  std::atomic<bool> leave{false};
  std::atomic<int> in{0};
  const auto hold = [&] {
    arena.execute([&] {
      ++in;
      await("the order to leave", [&] { return leave.load(); });
    });
  };
  std::thread first(hold);
  std::thread second(hold);
  await("a full arena", [&] { return in == 2; });
  std::atomic<bool> ran{false};
  std::atomic<bool> low_is_there{false};
  std::atomic<bool> back{false};
  std::thread low([&] {
    tbb::task_arena(1).execute([] {});  // a thread's depth counts from where it first came
    deep([&] {
      low_is_there = true;
      arena.execute([&] { ran = true; });
    });
    back = true;
  });
  await("the deep thread", [&] { return low_is_there.load(); });
  leave = true;
  await("execute() to return", [&] { return back.load(); });
  EXPECT_TRUE(ran);
  first.join();
  second.join();
  low.join();
}

/// The thread's own stack goes on first and falls asleep in its wait, deep; what it waits for is on a coroutine.
TEST(deep_waiter, goes_on_with_a_resumed_stack) {
  for (int round = 0; round < 50; ++round) {
    tbb::task_arena arena(1);
    tbb::task::suspend_point points[2] = {};
    std::atomic<int> suspended{0};
    std::atomic<bool> own_went_on{false};
    std::atomic<bool> back{false};
    const auto suspend_at = [&](tbb::task::suspend_point& at) {
      tbb::task::suspend([&](tbb::task::suspend_point p) {
        at = p;
        ++suspended;
      });
    };
    std::thread low([&] {
      arena.execute([] {});
      deep([&] {
        arena.execute([&] {
          tbb::task_group group;
          group.run([&] { suspend_at(points[1]); });
          group.run([&] {  // the first to run, on the thread's own stack
            suspend_at(points[0]);
            own_went_on = true;
          });
          group.wait();
        });
      });
      back = true;
    });
    await("both tasks to suspend", [&] { return suspended == 2; });
    tbb::task::resume(points[0]);
    await("the thread's own stack", [&] { return own_went_on.load(); });
    pass_time(round);
    tbb::task::resume(points[1]);
    await("the deep waiter", [&] { return back.load(); });
    low.join();
  }
}

// ---- on top of a task [S14]

TEST(nested_wait, takes_no_enqueued_task) {
  tbb::task_arena arena(2, 2);
  waiting_thread other(arena, here);
  const pid_t me = gettid();
  thread_local bool in_task = false;
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> taken{false};
    std::atomic<bool> ran{false};
    std::atomic<bool> on_top{false};
    arena.execute([&] {
      tbb::task_group around;
      around.run_and_wait([&] {
        in_task = true;
        tbb::task_group inner;
        inner.run([&] {
          taken = true;
          await("the nested wait to find nothing", [&] { return sleeps(me); });
        });
        await("the other thread", [&] { return taken.load(); });
        arena.enqueue([&] {
          on_top = in_task;
          ran = true;
        });
        inner.wait();
        in_task = false;
      });
    });
    await("the enqueued task", [&] { return ran.load(); });
    EXPECT_FALSE(on_top);
  }
  other.end_wait();
}

TEST(nested_wait, leaves_an_enqueued_task_to_an_outermost_one) {
  for (int round = 0; round < 50; ++round) {
    tbb::task_arena arena(2, 2);
    waiting_thread nested(arena, on_top_of_a_task);
    waiting_thread outermost(arena, here);
    pass_time(round);
    std::atomic<bool> ran{false};
    arena.enqueue([&] { ran = true; });
    await("the outermost waiter", [&] { return ran.load(); });
    nested.end_wait();
    outermost.end_wait();
  }
}

/// The outermost searcher stops with a task of its own while the nested one still looks: it must not have been the one
/// that an enqueuing thread relied on. Hangs without S14's last sentence.
TEST(nested_wait, is_not_who_an_enqueued_task_waits_for) {
  tbb::task_arena arena(3, 2);  // one worker
  waiting_thread nested(arena, on_top_of_a_task);
  for (int round = 0; round < 20'000; ++round) {
    std::atomic<bool> first{false};
    std::atomic<bool> second{false};
    arena.enqueue([&] { first = true; });
    arena.enqueue([&] { second = true; });
    homing::testing::await_spinning("both enqueued tasks", [&] { return first && second; });
  }
  nested.end_wait();
}

TEST(nested_wait, in_a_delegated_call_takes_enqueued_tasks) {
  tbb::task_arena arena(2, 2);
  const busy_thread busy(arena);
  waiting_thread inside(arena, here);
  std::atomic<bool> ran{false};
  std::thread outside([&] {
    arena.execute([&] {  // full: the thread inside runs this
      open_wait wait;
      arena.enqueue([&] {
        ran = true;
        wait.end();
      });
      wait.wait();
    });
  });
  await("the enqueued task", [&] { return ran.load(); });
  outside.join();
  inside.end_wait();
}

TEST(delegated_call, goes_before_what_was_enqueued_earlier) {
  tbb::task_arena arena(2, 2);
  const busy_thread busy(arena);
  std::atomic<bool> go{false};
  std::atomic<bool> is_in{false};
  std::atomic<int> before{0};
  std::atomic<int> seen{-1};
  open_wait wait;
  std::thread inside([&] {
    arena.execute([&] {
      is_in = true;
      await("the delegated call to be queued", [&] { return go.load(); });
      wait.wait();
    });
  });
  await("a full arena", [&] { return is_in.load(); });
  constexpr int tasks = 100;
  for (int i = 0; i < tasks; ++i) {
    arena.enqueue([&] { ++before; });
  }
  std::atomic<pid_t> waits_outside{0};
  std::thread outside([&] {
    waits_outside = gettid();
    arena.execute([&] { seen = before.load(); });
  });
  await("a thread that waits at the door", [&] { return waits_outside != 0 && sleeps(waits_outside); });
  go = true;
  outside.join();
  await("the enqueued tasks", [&] { return before == tasks; });
  wait.end();
  inside.join();
  EXPECT_LT(seen, tasks);
}

// ---- in isolation [S13]

/// An isolated waiter is called for a resumed stack while its own wait ends: the call is handed on to the other waiter.
/// Hangs without it.
TEST(isolated_waiter, hands_on_a_call_for_which_it_has_no_use) {
  for (int round = 0; round < 200; ++round) {
    tbb::task_arena arena(2, 2);
    tbb::task::suspend_point points[2] = {};
    std::atomic<int> suspended{0};
    std::atomic<bool> base_went_on{false};
    std::atomic<bool> over{false};
    std::thread other([&] {
      arena.execute([&] {
        tbb::task_group group;
        group.run([&] {  // taken second: on a coroutine
          tbb::task::suspend([&](tbb::task::suspend_point p) {
            points[1] = p;
            ++suspended;
          });
        });
        group.run([&] {  // taken first: on the thread's own stack
          tbb::task::suspend([&](tbb::task::suspend_point p) {
            points[0] = p;
            ++suspended;
          });
          base_went_on = true;
        });
        group.wait();
      });
      over = true;
    });
    await("both tasks to suspend", [&] { return suspended == 2; });
    tbb::task::resume(points[0]);
    await("the thread's own stack", [&] { return base_went_on.load(); });
    waiting_thread alone(arena, isolated);
    pass_time(round % 50);
    tbb::task::resume(points[1]);
    alone.end_wait();
    await("the stack to go on", [&] { return over.load(); });
    other.join();
  }
}

}  // namespace
