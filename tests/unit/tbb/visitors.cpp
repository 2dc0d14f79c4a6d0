// A thread that visits an arena by execute(), or waits at its door, may see the task_arena's end from inside.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/forked_child.hpp"
#include "unit/common/open_arena.hpp"
#include "unit/common/sleeps.hpp"

namespace {

using homing::testing::await;
using homing::testing::open_arena;
using homing::testing::sleeps;
using tbb::task_arena;

constexpr int rounds = 50;
constexpr int iterations = 100;

class visitors : public ::testing::Test {
 protected:
  void loop() {
    tbb::parallel_for(0, iterations, [&](int) { ++ran; });
  }
  tbb::global_control threads{tbb::global_control::max_allowed_parallelism, 4};
  std::atomic<int> ran{0};
};

TEST_F(visitors, end_the_arena_that_they_are_in) {
  for (int r = 0; r < rounds; ++r) {
    task_arena arena(4, r % 2);
    arena.execute([&] {
      loop();
      arena.terminate();
      EXPECT_FALSE(arena.is_active());
      loop();
    });
  }
  EXPECT_EQ(ran, 2 * rounds * iterations);
}

TEST_F(visitors, begin_it_anew) {
  for (int r = 0; r < rounds; ++r) {
    task_arena arena(4);
    arena.execute([&] {
      loop();
      arena.terminate();
      arena.initialize(2);
      loop();
      arena.execute([&] {
        EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 2);
        loop();
      });
      EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 4);
      loop();
    });
    arena.execute([&] { loop(); });
  }
  EXPECT_EQ(ran, 5 * rounds * iterations);
}

TEST_F(visitors, delete_the_object) {
  for (int r = 0; r < rounds; ++r) {
    auto arena = std::make_unique<task_arena>(4);
    arena->execute([&] {
      arena.reset();
      loop();
    });
  }
  EXPECT_EQ(ran, rounds * iterations);
}

// As each flow graph does.
TEST_F(visitors, end_what_is_attached_to_it) {
  task_arena arena(4);
  arena.execute([&] {
    for (int r = 0; r < rounds; ++r) {
      task_arena attached{task_arena::attach()};
      attached.execute([&] { loop(); });
    }
    arena.terminate();
    for (int r = 0; r < rounds; ++r) {
      task_arena attached{task_arena::attach()};
      attached.execute([&] { loop(); });
    }
  });
  EXPECT_EQ(ran, 2 * rounds * iterations);
}

TEST_F(visitors, leave_work_in_it) {
  for (int r = 0; r < rounds; ++r) {
    tbb::task_group group;
    auto arena = std::make_unique<task_arena>(4);
    arena->execute([&] {
      for (int i = 0; i < iterations; ++i) group.run([&] { ++ran; });
      arena.reset();
    });
    group.wait();
  }
  EXPECT_EQ(ran, rounds * iterations);
}

TEST_F(visitors, are_inside_when_another_thread_ends_it) {
  for (int r = 0; r < rounds; ++r) {
    constexpr int count = 3;
    task_arena arena(4);
    arena.initialize();
    std::atomic<int> inside{0};
    std::atomic<bool> ended{false};
    std::vector<std::thread> others;
    for (int i = 0; i < count; ++i) {
      others.emplace_back([&] {
        arena.execute([&] {
          ++inside;
          await("the arena's end", [&] { return ended.load(); });
          loop();
        });
      });
    }
    await("the visitors", [&] { return inside == count; });
    arena.terminate();
    ended = true;
    for (std::thread& t : others) t.join();
    EXPECT_EQ(ran, (r + 1) * count * iterations);
  }
}

// Without the visitor's hold it is a matter of time; for certain: tests/model/visitors.cpp.
TEST_F(visitors, leave_while_a_task_ends_it) {
  for (int r = 0; r < rounds; ++r) {
    auto arena = std::make_unique<task_arena>(4);
    std::atomic<bool> may_leave{false};
    std::atomic<bool> ended{false};
    arena->execute([&] {
      arena->enqueue([&] {
        may_leave = true;
        arena.reset();
        ended = true;
      });
      loop();
      await("the task", [&] { return may_leave.load(); });
    });
    await("the arena's end", [&] { return ended.load(); });
  }
  EXPECT_EQ(ran, rounds * iterations);
}

TEST_F(visitors, end_both_arenas_from_the_inner_one) {
  for (int r = 0; r < rounds; ++r) {
    open_arena outer(4);
    open_arena inner(4);
    outer.execute([&] {
      const void* const outer_before = outer.stands_for();
      inner.execute([&] {
        const void* const inner_before = inner.stands_for();
        outer.terminate();
        inner.terminate();
        open_arena next(4);
        next.initialize();
        EXPECT_NE(next.stands_for(), outer_before) << "its memory is in use";
        EXPECT_NE(next.stands_for(), inner_before) << "its memory is in use";
        loop();
      });
      loop();
    });
  }
  EXPECT_EQ(ran, 2 * rounds * iterations);
}

// Where no worker is allowed, a mandatory one may run the function for who waits at the door: then it is done already.
TEST_F(visitors, wait_at_the_door_when_it_ends) {
  for (int r = 0; r < rounds; ++r) {
    task_arena arena(1);
    std::atomic<bool> inside{false};
    std::atomic<bool> ended{false};
    std::thread first([&] {
      arena.execute([&] {
        inside = true;
        await("the arena's end", [&] { return ended.load(); });
      });
    });
    await("the first one inside", [&] { return inside.load(); });
    std::atomic<pid_t> outside{0};
    std::thread second([&] {
      outside = gettid();
      arena.execute([&] { loop(); });
    });
    await("the second one at the door",
          [&] { return outside != 0 && (sleeps(outside) || ran == (r + 1) * iterations); });
    arena.terminate();
    ended = true;
    first.join();
    second.join();
    EXPECT_EQ(ran, (r + 1) * iterations);
  }
}

TEST_F(visitors, leave_an_ended_arena_in_the_child_of_a_fork) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  // The child is made inside, and leaves the arena as its parent does.
  const pid_t parent = getpid();
  pid_t child = -1;
  task_arena arena(4);
  arena.execute([&] {
    loop();
    arena.terminate();
    child = fork();
    if (child == 0) alarm(30);
    loop();
  });
  if (getpid() != parent) {
    loop();
    _exit(ran == 3 * iterations ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ran, 2 * iterations);
}

/// Ends the arena as the first thread comes in.
struct ending_observer : tbb::task_scheduler_observer {
  explicit ending_observer(task_arena& arena) : task_scheduler_observer(arena), ended(arena) { observe(true); }
  ~ending_observer() override { observe(false); }
  ending_observer(const ending_observer&) = delete;
  ending_observer& operator=(const ending_observer&) = delete;
  void on_scheduler_entry(bool) override {
    if (!has_ended.exchange(true)) ended.terminate();
  }
  task_arena& ended;
  std::atomic<bool> has_ended{false};
};

TEST_F(visitors, keep_the_arena_that_an_observer_ends_as_they_come) {
  for (int r = 0; r < rounds; ++r) {
    open_arena arena(4);
    arena.initialize();
    const void* const before = arena.stands_for();
    ending_observer observer(arena);
    arena.execute([&] {
      loop();
      open_arena next(4);
      next.initialize();
      EXPECT_NE(next.stands_for(), before) << "its memory is in use";
      loop();
    });
    EXPECT_TRUE(observer.has_ended);
  }
  EXPECT_EQ(ran, 2 * rounds * iterations);
}

}  // namespace
