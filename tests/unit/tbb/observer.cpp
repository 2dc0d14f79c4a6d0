// Observers: whoever is let in is let out, several threads may switch one off at once, a worker that an observer holds
// up keeps nobody else from coming, and what a callback sees is not what has just ended.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/forked_child.hpp"

namespace {

using homing::testing::await;

class counting_observer : public tbb::task_scheduler_observer {
 public:
  explicit counting_observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~counting_observer() override { observe(false); }
  counting_observer(const counting_observer&) = delete;
  counting_observer& operator=(const counting_observer&) = delete;
  void on_scheduler_entry(bool) override { ++entries; }
  void on_scheduler_exit(bool) override { ++exits; }

  std::atomic<int> entries{0};
  std::atomic<int> exits{0};
};

TEST(observer, sees_every_thread_that_enters_leave_again) {
  tbb::task_arena arena(4);
  counting_observer observer(arena);
  constexpr int visits = 1000;
  for (int i = 0; i < visits; ++i) {
    arena.execute([] { tbb::parallel_for(0, 64, [](int) {}); });
  }
  await("the exit of every thread that entered", [&] { return observer.entries == observer.exits; });
  EXPECT_GE(observer.entries, visits);
}

/// Threads come and go meanwhile, so that callbacks are in flight.
TEST(observer, can_be_switched_off_by_several_threads_at_once) {
  constexpr unsigned rounds = 20'000;
  constexpr unsigned thread_count = 4;
  tbb::task_arena arena(3);
  counting_observer observer(arena);
  std::atomic<unsigned> round{0};
  std::atomic<unsigned> ready{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      for (unsigned mine = 1; mine <= rounds; ++mine) {
        await("the start of a round", [&] { return round >= mine; });
        observer.observe(false);
        ++ready;
      }
    });
  }
  for (unsigned i = 1; i <= rounds; ++i) {
    observer.observe(true);
    arena.enqueue([] {});
    round = i;
    await("all threads to have switched it off", [&] { return ready == i * thread_count; });
    ASSERT_FALSE(observer.is_observing());
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

class holding_observer : public tbb::task_scheduler_observer {
 public:
  explicit holding_observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~holding_observer() override { observe(false); }
  holding_observer(const holding_observer&) = delete;
  holding_observer& operator=(const holding_observer&) = delete;
  void on_scheduler_entry(bool is_worker) override {
    if (is_worker && !first_held.exchange(true)) {
      held = true;
      await("the task, which another worker should have run", [&] { return over.load(); });
    }
  }

  std::atomic<bool> first_held{false};
  std::atomic<bool> held{false};
  std::atomic<bool> over{false};
};

/// [S8]: the first worker that comes sits in the observer; nobody but workers may take the task.
TEST(observer, holds_up_no_task_that_another_worker_can_take) {
  const tbb::global_control three(tbb::global_control::max_allowed_parallelism, 3);
  for (int round = 0; round < 200; ++round) {
    tbb::task_arena arena(3, 1);
    holding_observer observer(arena);
    arena.enqueue([&] { observer.over = true; });
    await("the end of the task", [&] { return observer.over.load(); });
  }
}

class noting_observer : public tbb::task_scheduler_observer {
 public:
  explicit noting_observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~noting_observer() override { observe(false); }
  noting_observer(const noting_observer&) = delete;
  noting_observer& operator=(const noting_observer&) = delete;
  void on_scheduler_entry(bool is_worker) override { ++(is_worker ? workers : applications); }
  std::atomic<int> workers{0};
  std::atomic<int> applications{0};
};

TEST(observer, is_told_that_a_worker_which_comes_by_execute_is_none) {
  tbb::task_arena home(2, 1);
  tbb::task_arena other(1);
  noting_observer observer(other);
  std::atomic<bool> done{false};
  home.enqueue([&] {
    other.execute([] {});
    done = true;
  });
  await("the worker's visit", [&] { return done.load(); });
  EXPECT_EQ(observer.workers, 0);
  EXPECT_EQ(observer.applications, 1);
}

TEST(observer, does_not_outlive_its_arena) {
  for (int round = 0; round < 200; ++round) {
    auto arena = std::make_unique<tbb::task_arena>(2);
    noting_observer observer(*arena);
    if (round % 2 == 0) {
      arena->enqueue([] {});
    }
    arena.reset();
    await("the end of the arena", [&] { return !observer.is_observing(); });
  }
}

/// Switched off by its thread while the arena ends: one of the two frees what ties them.
TEST(observer, may_be_switched_off_while_its_arena_ends) {
  for (int round = 0; round < 2000; ++round) {
    auto arena = std::make_unique<tbb::task_arena>(2, 2);
    noting_observer observer(*arena);
    std::atomic<bool> ready{false};
    std::thread off([&] {
      ready = true;
      observer.observe(false);
    });
    homing::testing::await_spinning("the other thread", [&] { return ready.load(); });
    arena.reset();
    off.join();
    ASSERT_FALSE(observer.is_observing());
  }
}

/// What runs between two tasks of a waiting thread must not see the last one's context, which may be gone: here its
/// memory is somebody else's, and a context that the observer makes would tell it of a child.
class binding_observer : public tbb::task_scheduler_observer {
 public:
  binding_observer(tbb::task_arena& arena, std::thread::id only) : task_scheduler_observer(arena), only_(only) {
    observe(true);
  }
  ~binding_observer() override { observe(false); }
  binding_observer(const binding_observer&) = delete;
  binding_observer& operator=(const binding_observer&) = delete;
  void on_scheduler_entry(bool) override {
    if (std::this_thread::get_id() == only_) {
      tbb::task_group_context child;
      tbb::parallel_for(
          0, 4, [](int) {}, child);
      EXPECT_EQ(tbb::task::current_context(), nullptr);
      ++calls;
    }
  }
  std::atomic<int> calls{0};

 private:
  const std::thread::id only_;
};

TEST(observer, sees_no_context_of_a_task_that_has_ended) {
  tbb::task_arena arena(2, 2);
  tbb::detail::d1::wait_context wait(1);
  tbb::task_group_context waits_in;
  std::atomic<bool> is_in{false};
  std::thread waiter([&] {
    arena.execute([&] {
      is_in = true;
      tbb::detail::d1::wait(wait, waits_in);
    });
  });
  await("the waiter", [&] { return is_in.load(); });
  const auto run_by_waiter = [&](tbb::task_group& group) {
    std::atomic<bool> ran{false};
    group.run([&] { ran = true; });
    await("the waiter to take the task", [&] { return ran.load(); });
    group.wait();
  };
  alignas(tbb::task_group_context) unsigned char place[sizeof(tbb::task_group_context)];
  auto* context = new (place) tbb::task_group_context;
  arena.execute([&] {
    tbb::task_group group(*context);
    run_by_waiter(group);
  });
  context->~task_group_context();
  std::fill(std::begin(place), std::end(place), static_cast<unsigned char>(0));
  const binding_observer observer(arena, waiter.get_id());
  arena.execute([&] {
    tbb::task_group group;
    run_by_waiter(group);
  });
  EXPECT_GT(observer.calls, 0);
  EXPECT_EQ(std::count(std::begin(place), std::end(place), 0), static_cast<std::ptrdiff_t>(sizeof place));
  wait.release();
  waiter.join();
}

/// Its callback goes into another arena.
class visiting_observer : public tbb::task_scheduler_observer {
 public:
  visiting_observer(tbb::task_arena& arena, tbb::task_arena& other) : task_scheduler_observer(arena), other_(other) {
    observe(true);
  }
  ~visiting_observer() override { observe(false); }
  visiting_observer(const visiting_observer&) = delete;
  visiting_observer& operator=(const visiting_observer&) = delete;
  void on_scheduler_entry(bool) override {
    other_.execute([] {});
    ++entries;
  }
  std::atomic<int> entries{0};

 private:
  tbb::task_arena& other_;
};

/// Its callback switches an observer off.
class ending_observer : public tbb::task_scheduler_observer {
 public:
  explicit ending_observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~ending_observer() override { observe(false); }
  ending_observer(const ending_observer&) = delete;
  ending_observer& operator=(const ending_observer&) = delete;
  void on_scheduler_entry(bool) override {
    if (ended != nullptr) ended->observe(false);
  }
  tbb::task_scheduler_observer* ended = nullptr;
};

TEST(observer, can_be_switched_off_in_a_callback_inside_its_own) {
  tbb::task_arena arena(1);
  tbb::task_arena other(1);
  ending_observer inner(other);
  visiting_observer outer(arena, other);
  inner.ended = &outer;
  arena.execute([] {});
  EXPECT_EQ(outer.entries, 1);
  EXPECT_FALSE(outer.is_observing());
}

/// Its callback switches a second one on, at the entry or the exit.
class starting_observer : public tbb::task_scheduler_observer {
 public:
  explicit starting_observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~starting_observer() override { observe(false); }
  starting_observer(const starting_observer&) = delete;
  starting_observer& operator=(const starting_observer&) = delete;
  void on_scheduler_entry(bool) override {
    ++entries;
    if (at_entry != nullptr) at_entry->observe(true);
  }
  void on_scheduler_exit(bool) override {
    ++exits;
    if (at_exit != nullptr) at_exit->observe(true);
  }
  tbb::task_scheduler_observer* at_entry = nullptr;
  tbb::task_scheduler_observer* at_exit = nullptr;
  int entries = 0;
  int exits = 0;
};

TEST(observer, that_is_switched_on_in_a_callback_sees_whoever_enters_leave_again) {
  for (const bool at_entry : {true, false}) {
    tbb::task_arena arena(1);
    starting_observer first(arena);
    counting_observer second(arena);
    second.observe(false);
    (at_entry ? first.at_entry : first.at_exit) = &second;
    for (int visit = 1; visit <= 3; ++visit) {
      arena.execute([] {});
      EXPECT_EQ(first.entries, visit);
      EXPECT_EQ(first.exits, visit);
      EXPECT_EQ(second.entries, visit);
      EXPECT_EQ(second.exits, visit) << (at_entry ? "on at the entry" : "on at the exit");
    }
  }
}

/// Each has a number; some in the midst are switched off.
TEST(observer, of_many_sees_each_visit) {
  tbb::task_arena arena(1);
  std::vector<std::unique_ptr<counting_observer>> observers;
  for (int i = 0; i < 100; ++i) {
    observers.push_back(std::make_unique<counting_observer>(arena));
  }
  for (int i = 0; i < 100; i += 3) {
    observers[i]->observe(false);
  }
  arena.execute([] {});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(observers[i]->entries, i % 3 == 0 ? 0 : 1) << i;
    EXPECT_EQ(observers[i]->exits, i % 3 == 0 ? 0 : 1) << i;
  }
}

/// Says so in a pipe, since nobody else is there any more.
class writing_observer : public tbb::task_scheduler_observer {
 public:
  explicit writing_observer(int pipe) : pipe_(pipe) { observe(true); }
  ~writing_observer() override { observe(false); }
  writing_observer(const writing_observer&) = delete;
  writing_observer& operator=(const writing_observer&) = delete;
  void on_scheduler_exit(bool is_worker) override {
    if (!is_worker && write(pipe_, "e", 1) != 1) std::abort();
  }

 private:
  int pipe_;
};

TEST(observer, of_the_thread_that_ends_the_process_sees_it_leave) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    static_cast<void>(new writing_observer(ends[1]));
    tbb::parallel_for(0, 100, [](int) {});
    std::exit(0);
  }
  close(ends[1]);
  int status = -1;
  while (waitpid(child, &status, 0) != child) {
  }
  EXPECT_EQ(status, 0);
  char said[4];
  EXPECT_EQ(read(ends[0], said, sizeof said), 1) << "one exit";
  close(ends[0]);
}

struct throwing_observer : tbb::task_scheduler_observer {
  explicit throwing_observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~throwing_observer() override { observe(false); }
  throwing_observer(const throwing_observer&) = delete;
  throwing_observer& operator=(const throwing_observer&) = delete;
  void on_scheduler_entry(bool) override {
    if (throws) throw std::runtime_error("expected");
  }
  bool throws = true;
};

TEST(observer, whose_callback_throws_can_be_switched_off) {
  tbb::task_arena arena(1);
  throwing_observer observer(arena);
  bool ran = false;
  EXPECT_THROW(arena.execute([&] { ran = true; }), std::runtime_error);
  EXPECT_FALSE(ran);
  observer.throws = false;
  arena.execute([&] { ran = true; });
  EXPECT_TRUE(ran);
  observer.observe(false);  // would wait for ever for a callback that has not ended
  EXPECT_FALSE(observer.is_observing());
}

/// It is switched on while the thread is inside, and told when that has found its next task: which is cancelled.
TEST(observer, whose_callback_throws_beside_a_task_that_was_found_ends_that_task) {
  tbb::task_arena arena(2, 2);
  throwing_observer observer(arena);
  observer.observe(false);
  tbb::task_group group;
  bool ran = false;
  arena.execute([&] {
    arena.enqueue(group.defer([&] { ran = true; }));
    std::thread([&] { observer.observe(true); }).join();
    EXPECT_THROW(group.wait(), std::runtime_error);
    EXPECT_FALSE(ran);
    observer.throws = false;
    group.run_and_wait([&] { ran = true; });
  });
  EXPECT_TRUE(ran);
}

}  // namespace
