// Parallel phases and leave policies: they begin arenas and call workers, keep nobody from other arenas' work, and when
// the last phase has ended every worker leaves.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <atomic>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"

namespace {

using homing::testing::await;

using tbb::global_control;
using tbb::task_arena;
using phase = task_arena::parallel_phase;
using leave_policy = task_arena::leave_policy;

class worker_counter : public tbb::task_scheduler_observer {
 public:
  explicit worker_counter(task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~worker_counter() override { observe(false); }
  worker_counter(const worker_counter&) = delete;
  worker_counter& operator=(const worker_counter&) = delete;
  void on_scheduler_entry(bool is_worker) override {
    if (is_worker) ++entries_;
  }
  void on_scheduler_exit(bool is_worker) override {
    if (is_worker) ++exits_;
  }
  [[nodiscard]] bool has_seen_any() const { return entries_ > 0; }
  void await_nobody() {
    await("all workers to leave", [&] { return exits_ == entries_; });
  }

 private:
  std::atomic<int> entries_{0};
  std::atomic<int> exits_{0};
};

/// A loop that ends when `threads` are in it.
void loop_of(int threads) {
  std::atomic<int> here{0};
  tbb::parallel_for(
      0, threads,
      [&](int) {
        ++here;
        await("all threads in one loop", [&] { return here == threads; });
      },
      tbb::simple_partitioner{});
}

global_control allowed(std::size_t threads) { return {global_control::max_allowed_parallelism, threads}; }

TEST(parallel_phase, begins_the_arena) {
  task_arena arena(2);
  EXPECT_FALSE(arena.is_active());
  arena.start_parallel_phase();
  EXPECT_TRUE(arena.is_active());
  arena.end_parallel_phase();
  task_arena other(2);
  const phase scope(other);
  EXPECT_TRUE(other.is_active());
}

TEST(parallel_phase, gives_a_thread_its_own_arena) {
  std::thread([] {
    EXPECT_EQ(tbb::this_task_arena::current_thread_index(), task_arena::not_initialized);
    tbb::this_task_arena::start_parallel_phase();
    EXPECT_EQ(tbb::this_task_arena::current_thread_index(), 0);
    tbb::this_task_arena::end_parallel_phase();
  }).join();
  std::thread([] {
    phase scope(tbb::attach{});
    EXPECT_EQ(tbb::this_task_arena::current_thread_index(), 0);
    scope.end();
  }).join();
}

static_assert(!std::is_copy_constructible_v<phase> && !std::is_copy_assignable_v<phase>);
static_assert(std::is_convertible_v<phase::end_flag_fast_leave, phase::flags>);

/// The phase is a hint that work will come, which the library may leave, but not always.
TEST(parallel_phase, calls_workers_before_there_is_work) {
  const auto four = allowed(4);
  int rounds_with_workers = 0;
  for (int round = 0; round < 50; ++round) {
    task_arena arena(4);
    worker_counter counter(arena);
    arena.start_parallel_phase();
    for (int look = 0; look < 10'000 && !counter.has_seen_any(); ++look) {
      std::this_thread::yield();
    }
    rounds_with_workers += counter.has_seen_any() ? 1 : 0;
    arena.end_parallel_phase(phase::end_flag_fast_leave{});
    counter.await_nobody();
  }
  EXPECT_GT(rounds_with_workers, 0);
}

/// In a phase, and when it ends by each of the ways, work is done and workers leave.
TEST(parallel_phase, ends_by_itself_by_a_call_or_where_it_was_moved_to) {
  const auto two = allowed(2);
  task_arena one(2);
  task_arena other(2);
  worker_counter counter(one);
  const auto work = [&] {
    one.execute([] { loop_of(2); });
    other.execute([] { loop_of(2); });
  };
  for (int round = 0; round < 50; ++round) {
    {
      const phase scope(one);
      work();
    }
    work();
    counter.await_nobody();
    {
      phase scope(one, phase::end_flag_fast_leave{});
      work();
      scope.end();
      scope.end();
      work();
    }
    {
      phase first(one);
      phase second(std::move(first));
      work();
      phase third(other);
      third = std::move(second);  // other's phase ends, one's goes on
      work();
      first.end();
      second.end();
    }
    counter.await_nobody();
  }
}

TEST(parallel_phase, nests_and_may_end_on_another_thread) {
  const auto two = allowed(2);
  task_arena arena(2);
  worker_counter counter(arena);
  for (int round = 0; round < 50; ++round) {
    arena.start_parallel_phase();
    {
      const phase inner(arena, phase::end_flag_fast_leave{});
      arena.execute([] {
        const phase innermost{tbb::attach{}};
        loop_of(2);
      });
    }
    arena.execute([] { loop_of(2); });
    std::atomic<bool> ended{false};
    arena.enqueue([&] {
      tbb::this_task_arena::end_parallel_phase(phase::end_flag_fast_leave{});
      ended = true;
    });
    await("the end of the phase", [&] { return ended.load(); });
    counter.await_nobody();
  }
}

/// The only worker has worked for the arena in its phase, which goes on; another arena's task gets it.
TEST(parallel_phase, keeps_no_worker_from_another_arena) {
  const auto two = allowed(2);
  for (int round = 0; round < 50; ++round) {
    task_arena busy(2, 1);
    task_arena other(2, 1);
    const phase scope(busy, phase::end_flag_fast_leave{});
    busy.execute([] { loop_of(2); });
    std::atomic<bool> ran{false};
    other.enqueue([&] { ran = true; });
    await("a task of another arena than that in its phase", [&] { return ran.load(); });
    busy.execute([] { loop_of(2); });
  }
}

TEST(parallel_phase, of_many_threads_while_they_work) {
  constexpr int threads = 4;
  task_arena arena(4);
  worker_counter counter(arena);
  std::vector<std::thread> users;
  std::atomic<int> sum{0};
  for (int i = 0; i < threads; ++i) {
    users.emplace_back([&, i] {
      for (int round = 0; round < 500; ++round) {
        if ((round + i) % 3 == 0) arena.start_parallel_phase();
        arena.execute([&] {
          tbb::this_task_arena::start_parallel_phase();
          tbb::parallel_for(0, 16, [&](int) { ++sum; });
          tbb::this_task_arena::end_parallel_phase(phase::end_flag_fast_leave{});
        });
        if ((round + i) % 3 == 0) arena.end_parallel_phase(phase::end_flag_fast_leave{});
      }
    });
  }
  for (auto& user : users) {
    user.join();
  }
  EXPECT_EQ(sum, threads * 500 * 16);
  counter.await_nobody();
}

/// An arena may be used and thrown away whatever its policy is, and workers leave it.
TEST(leave_policy, of_arenas) {
  const auto two = allowed(2);
  for (const auto policy : {leave_policy::automatic, leave_policy::fast}) {
    task_arena by_number(2, 1, task_arena::priority::normal, policy);
    task_arena by_constraints(task_arena::constraints{}.set_max_concurrency(2), 1, task_arena::priority::normal,
                              policy);
    task_arena late;
    late.initialize(2, 1, task_arena::priority::normal, policy);
    task_arena copy(late);
    for (task_arena* arena : {&by_number, &by_constraints, &late, &copy}) {
      worker_counter counter(*arena);
      for (int round = 0; round < 50; ++round) {
        arena->execute([] { loop_of(2); });
      }
      counter.await_nobody();
    }
  }
}

TEST(leave_policy, for_all_arenas_is_the_first_fast_one) {
  const auto active = [] {
    return static_cast<leave_policy>(global_control::active_value(global_control::leave_policy));
  };
  EXPECT_EQ(active(), leave_policy::automatic);
  {
    const global_control slow(global_control::leave_policy, leave_policy::automatic);
    EXPECT_EQ(active(), leave_policy::automatic);
    const global_control fast(global_control::leave_policy, leave_policy::fast);
    EXPECT_EQ(active(), leave_policy::fast);
    const auto two = allowed(2);
    task_arena arena(2);
    worker_counter counter(arena);
    const phase scope(arena);
    arena.execute([] { loop_of(2); });
  }
  EXPECT_EQ(active(), leave_policy::automatic);
}

/// Attached to an arena, an object and its copies show that arena's policy.
TEST(leave_policy, is_copied_with_the_other_settings) {
  struct peek : task_arena {
    using task_arena::task_arena;
    [[nodiscard]] leave_policy policy() const { return get_leave_policy(); }
  };
  const peek fast(2, 1U, task_arena::priority::normal, leave_policy::fast);
  const peek copy(fast);
  EXPECT_EQ(copy.policy(), leave_policy::fast);
  EXPECT_EQ(peek(2).policy(), leave_policy::automatic);
  for (const auto policy : {leave_policy::automatic, leave_policy::fast}) {
    task_arena arena(2, 1, task_arena::priority::normal, policy);
    arena.execute([&] {
      const peek attached(tbb::attach{});
      EXPECT_EQ(attached.policy(), policy);
      EXPECT_EQ(peek(attached).policy(), policy);
    });
  }
}

/// So many are called that the first have looked in vain before the last comes.
TEST(parallel_phase, begins_in_an_arena_of_very_many_threads) {
  homing::testing::in_own_process({{"HOMING_TOPOLOGY", "node:4 core:256 pu:1"}}, [] {
    task_arena arena(1000);
    const phase held(arena);
  });
}

}  // namespace
