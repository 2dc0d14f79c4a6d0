// Tasks with addresses: each runs once, at home if the home's threads are there, and its exceptions and values come
// back. Made-up machines, each test in a process of its own; where workers must be at certain places, they are held
// until all are.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/pinned.hpp>
#include <homing/tasks.hpp>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/forked_child.hpp"
#include "unit/common/held_threads.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/sandbox.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

using homing::domain_index;
using homing::on;
using homing::testing::await;
using homing::testing::contender;
using homing::testing::environment;
using homing::testing::gathering;
using homing::testing::in_own_process;

const environment four_by_two{{"HOMING_TOPOLOGY", "node:4 core:2 pu:1"}};
constexpr unsigned domains = 4;
constexpr unsigned workers = 8;

using parallelism = tbb::global_control;

/// Tasks that each keep their thread until all have begun: no thread runs two of them.
class meeting {
 public:
  explicit meeting(unsigned size) : size_(size) {}
  void attend(unsigned home) {
    if (homing::current_domain() != domain_index{home}) away_.fetch_add(1);
    begun_.fetch_add(1);
    await("all tasks of the meeting", [this] { return begun_.load() == size_; });
    ended_.fetch_add(1);
  }
  void await_end() {
    await("the end of the meeting", [this] { return ended_.load() == size_; });
  }
  [[nodiscard]] unsigned away() const { return away_.load(); }

 private:
  const unsigned size_;
  std::atomic<unsigned> begun_{0};
  std::atomic<unsigned> ended_{0};
  std::atomic<unsigned> away_{0};
};

TEST(tasks, the_library_and_its_domains_are_known) {
  in_own_process(four_by_two, [] {
    EXPECT_TRUE(homing::runtime().is_homing);
    EXPECT_NE(std::string(homing::runtime().version).find("homing"), std::string::npos);
    EXPECT_EQ(homing::domain_count(), domains);
    EXPECT_LT(to_index(homing::current_domain()), domains);
  });
}

/// Meetings in an arena whose workers are all there, each with one task for each of them: `meet(arena, meeting, go)`
/// sends the tasks and calls go(), which lets the workers begin and waits for the end.
template <class Meet>
void expect_meetings_at_home(const Meet& meet) {
  in_own_process(four_by_two, [&] {
    const parallelism limit(parallelism::max_allowed_parallelism, workers + 1);
    tbb::task_arena arena(workers + 1, 1);
    for (int round = 0; round < 50; ++round) {
      gathering all(arena, workers);
      meeting m(workers);
      meet(arena, m, [&] {
        all.let_go();
        m.await_end();
      });
      ASSERT_EQ(m.away(), 0U) << "round " << round;
    }
  });
}

TEST(tasks, spawned_ones_run_at_home_when_all_threads_are_there) {
  expect_meetings_at_home([](tbb::task_arena& arena, meeting& m, const auto& go) {
    arena.execute([&] {
      homing::task_group group;
      for (unsigned i = 0; i < workers; ++i) {
        group.run(on(i % domains), [&m, i] { m.attend(i % domains); });
      }
      go();  // not in wait(): this thread would take its tasks back
      EXPECT_EQ(group.wait(), tbb::task_group_status::complete);
    });
  });
}

TEST(tasks, enqueued_ones_run_at_home_when_all_threads_are_there) {
  expect_meetings_at_home([](tbb::task_arena& arena, meeting& m, const auto& go) {
    for (unsigned i = 0; i < workers; ++i) {
      homing::enqueue(arena, on(i % domains), [&m, i] { m.attend(i % domains); });
    }
    go();
  });
}

TEST(tasks, addressed_ones_run_elsewhere_when_their_home_is_busy) {
  in_own_process(four_by_two, [] {
    const parallelism limit(parallelism::max_allowed_parallelism, workers + 1);
    const contender holder(3, 2);
    tbb::task_arena arena(workers, 0);
    std::atomic<int> ran{0};
    for (int i = 0; i < 1000; ++i) {
      homing::enqueue(arena, on(3U), [&] { ran.fetch_add(1); });
    }
    await("tasks whose home is busy", [&] { return ran.load() == 1000; });
    EXPECT_EQ(holder.held(), 2U);
  });
}

TEST(tasks, an_enqueued_one_runs_even_where_no_worker_is_allowed) {
  in_own_process(four_by_two, [] {
    const parallelism limit(parallelism::max_allowed_parallelism, 1);
    for (unsigned d = 0; d < domains; ++d) {
      std::atomic<bool> ran{false};
      homing::enqueue(on(d), [&] { ran.store(true); });
      await("an enqueued task", [&] { return ran.load(); });
    }
  });
}

TEST(tasks, an_enqueued_one_runs_in_the_child_of_a_fork_in_an_arena_of_before) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  in_own_process(four_by_two, [] {
    tbb::task_arena arena(2, 1);
    arena.initialize();
    EXPECT_TRUE(homing::testing::child_can([&] {
      std::atomic<bool> ran{false};
      homing::enqueue(arena, on(1U), [&] { ran.store(true); });
      await("an enqueued task", [&] { return ran.load(); });
      return true;
    }));
  });
}

TEST(tasks, groups_run_all_and_rethrow_and_cancel) {
  in_own_process(four_by_two, [] {
    const parallelism limit(parallelism::max_allowed_parallelism, 16);
    std::atomic<int> ran{0};
    homing::task_group group;
    for (int round = 0; round < 200; ++round) {
      for (unsigned i = 0; i < 40; ++i) {
        group.run(i % 5 == 4 ? homing::place() : on(i % 5), [&] { ran.fetch_add(1); });
      }
      ASSERT_EQ(group.wait(), tbb::task_group_status::complete);
      ASSERT_EQ(ran.load(), 40 * (round + 1));
    }
    for (unsigned d = 0; d < domains; ++d) {
      group.run(on(d), [&, d] {
        if (d == 2) throw std::runtime_error("from domain 2");
        ran.fetch_add(1);
      });
    }
    EXPECT_THROW(static_cast<void>(group.wait()), std::runtime_error);
    group.run(on(1U), [&] { group.cancel(); });
    EXPECT_EQ(group.wait(), tbb::task_group_status::canceled);
    EXPECT_EQ(group.run_and_wait([] {}), tbb::task_group_status::complete);
    auto shared = std::make_shared<std::atomic<int>>(0);
    {
      homing::task_group left_alone;
      for (unsigned i = 0; i < 100; ++i) left_alone.run(on(i % domains), [shared] { ++*shared; });
    }
    EXPECT_EQ(shared.use_count(), 1) << "the end of a group leaves no task behind";
  });
}

TEST(tasks, run_on_gives_back_values_references_and_exceptions) {
  in_own_process(four_by_two, [] {
    const parallelism limit(parallelism::max_allowed_parallelism, workers);
    int variable = 0;
    for (int round = 0; round < 300; ++round) {
      for (unsigned d = 0; d < domains; ++d) {
        ASSERT_EQ(homing::run_on(d, [&] { return std::make_unique<int>(round); }).operator*(), round);
        ASSERT_EQ(&homing::run_on(d, [&]() -> int& { return variable; }), &variable);
        homing::run_on(domain_index{d}, [&] { ++variable; });
        ASSERT_THROW(homing::run_on(d, []() -> int { throw std::logic_error("x"); }), std::logic_error);
      }
    }
    EXPECT_EQ(variable, 1200);
  });
}

TEST(tasks, run_on_stays_on_the_thread_that_is_there_already) {
  in_own_process(four_by_two, [] {
    const auto self = std::this_thread::get_id();
    const auto here = homing::current_domain();
    EXPECT_EQ(homing::run_on(here, [] { return std::this_thread::get_id(); }), self);
  });
}

/// Where nobody else takes tasks, the waiting thread itself must: alone, isolated, and nested.
TEST(tasks, run_on_ends_with_one_thread_and_in_isolated_regions) {
  in_own_process(four_by_two, [] {
    const parallelism limit(parallelism::max_allowed_parallelism, 1);
    tbb::task_arena arena(1, 1);
    int count = 0;
    arena.execute([&] {
      for (unsigned d = 0; d < domains; ++d) {
        homing::run_on(d, [&] { homing::run_on((d + 1) % domains, [&] { ++count; }); });
        tbb::this_task_arena::isolate([&] {
          homing::run_on(d, [&] {
            homing::task_group group;
            group.run(on((d + 2) % domains), [&] { ++count; });
            group.wait();
          });
        });
      }
    });
    EXPECT_EQ(count, 8);
  });
}

TEST(tasks, cancellation_around_run_on_does_not_reach_in) {
  in_own_process(four_by_two, [] {
    const parallelism limit(parallelism::max_allowed_parallelism, workers);
    homing::task_group group;
    std::atomic<int> got{0};
    for (unsigned d = 0; d < domains; ++d) {
      group.run(on(d), [&, d] {
        group.cancel();
        got.fetch_add(homing::run_on((d + 1) % domains, [] { return 1; }));
      });
    }
    static_cast<void>(group.wait());
    EXPECT_GE(got.load(), 1);
  });
}

TEST(tasks, more_threads_than_cpus_lose_nothing) {
  in_own_process(four_by_two, [] {
    const parallelism limit(parallelism::max_allowed_parallelism, 16);
    std::atomic<long> ran{0};
    homing::task_group outer;
    for (unsigned i = 0; i < 64; ++i) {
      outer.run(on(i % domains), [&, i] {
        homing::task_group inner;
        for (unsigned k = 0; k < 64; ++k) {
          inner.run(on((i + k) % domains), [&] { ran.fetch_add(homing::run_on(2U, [] { return 1; })); });
        }
        inner.wait();
      });
    }
    outer.wait();
    EXPECT_EQ(ran.load(), 64 * 64);
  });
}

// ---- pinned sections

TEST(pinned, a_section_and_what_it_spawns_stay_in_the_domain) {
  in_own_process(four_by_two, [] {
    const parallelism limit(parallelism::max_allowed_parallelism, 16);
    for (unsigned round = 0; round < 100; ++round) {
      const unsigned d = round % domains;
      std::atomic<unsigned> away{0};
      std::atomic<unsigned> ran{0};
      const auto note = [&](unsigned home) {
        ran.fetch_add(1);
        if (homing::current_domain() != domain_index{home}) away.fetch_add(1);
      };
      const unsigned answer = homing::pinned(d, [&] {
        note(d);
        tbb::parallel_for(
            0, 100, [&](int) { note(d); }, tbb::simple_partitioner{});
        homing::pinned((d + 1) % domains, [&] { tbb::parallel_for(0, 50, [&](int) { note((d + 1) % domains); }); });
        return d + 7;
      });
      ASSERT_EQ(answer, d + 7);
      ASSERT_EQ(ran.load(), 151U);
      ASSERT_EQ(away.load(), 0U) << "round " << round;
    }
  });
}

TEST(task_group, the_end_of_one_that_was_waited_for_cancels_nobody) {
  in_own_process(four_by_two, [] {
    tbb::task_group_context shared;
    {
      homing::task_group group(shared);
      group.run([&] { group.run([] {}); });  // a task that is waited for runs more
      group.wait();
      std::atomic<int> ran{0};
      group.run([&] { ran.fetch_add(1); });
      group.wait();
      EXPECT_EQ(ran.load(), 1);
      group.run_and_wait([&] { group.run([&] { ran.fetch_add(1); }); });
      EXPECT_EQ(ran.load(), 2);
      homing::task_group other(shared);
      std::atomic<bool> begun{false};
      std::atomic<bool> over{false};
      std::atomic<bool> cancelled{false};
      other.run([&] {
        begun.store(true);
        homing::testing::await("the other group's end", [&] { return over.load(); });
        cancelled.store(shared.is_group_execution_cancelled());
      });
      homing::testing::await("a task", [&] { return begun.load(); });
      {
        homing::task_group ends(shared);
        ends.run([&] { ends.run([] {}); });
        ends.wait();
      }
      over.store(true);
      other.wait();
      EXPECT_FALSE(cancelled.load());
    }
  });
}

TEST(pinned, exceptions_come_back_and_one_arena_serves_many_sections_and_callers) {
  in_own_process(four_by_two, [] {
    const parallelism limit(parallelism::max_allowed_parallelism, 16);
    EXPECT_THROW(homing::pinned(3U, [] { throw std::runtime_error("there"); }), std::runtime_error);
    homing::domain_arena there(domain_index{2});
    std::atomic<int> sum{0};
    {
      std::vector<std::jthread> callers;
      for (int i = 0; i < 4; ++i) {
        callers.emplace_back([&] {
          for (int k = 0; k < 100; ++k) {
            there.execute([&] { tbb::parallel_for(0, 10, [&](int) { sum.fetch_add(1); }); });
          }
        });
      }
    }
    EXPECT_EQ(sum.load(), 4000);
  });
}

TEST(pinned, a_copy_of_an_arena_is_one_of_the_same_domain) {
  in_own_process(four_by_two, [] {
    std::vector<homing::domain_arena> arenas;
    for (std::uint32_t d = 0; d < 4; ++d) arenas.emplace_back(domain_index{d});  // growing copies
    for (std::uint32_t d = 0; d < 4; ++d) {
      std::atomic<int> away{0};
      for (int round = 0; round < 20; ++round) {
        arenas[d].execute([&] {
          tbb::parallel_for(0, 100, [&](int) { away.fetch_add(homing::current_domain() == domain_index{d} ? 0 : 1); });
        });
      }
      EXPECT_EQ(away.load(), 0) << d;
    }
  });
}

/// Under small limits some domains have no worker: there the caller works alone, but for what somebody may wait for.
TEST(pinned, a_section_stays_in_its_domain_whatever_the_limit) {
  in_own_process(four_by_two, [] {
    for (std::size_t threads = 1; threads < 6; ++threads) {
      const parallelism limit(parallelism::max_allowed_parallelism, threads);
      for (unsigned round = 0; round < 20 * domains; ++round) {
        const unsigned d = round % domains;
        std::atomic<unsigned> away{0};
        std::atomic<unsigned> ran{0};
        homing::pinned(d, [&] {
          tbb::parallel_for(
              0, 100,
              [&](int) {
                for (int i = 0; i < 5000; ++i) __asm__ volatile("");
                ran.fetch_add(1);
                if (homing::current_domain() != domain_index{d}) away.fetch_add(1);
              },
              tbb::simple_partitioner{});
        });
        ASSERT_EQ(ran.load(), 100U);
        ASSERT_EQ(away.load(), 0U) << "domain " << d << ", limit " << threads;
      }
    }
  });
}

TEST(pinned, what_is_enqueued_in_a_section_without_a_worker_runs_while_its_caller_blocks) {
  in_own_process(four_by_two, [] {
    for (std::size_t threads = 1; threads < 4; ++threads) {
      const parallelism limit(parallelism::max_allowed_parallelism, threads);
      for (unsigned round = 0; round < 20 * domains; ++round) {
        const unsigned d = round % domains;
        std::promise<int> promise;
        std::atomic<unsigned> away{0};
        const auto note = [&] { away.fetch_add(homing::current_domain() != domain_index{d} ? 1 : 0); };
        homing::pinned(d, [&] {
          tbb::task_arena here(tbb::task_arena::attach{});
          here.enqueue([&] {
            note();
            std::atomic<int> ran{0};
            tbb::parallel_for(0, 100, [&](int) { ran.fetch_add(1); });
            promise.set_value(ran.load());
          });
          ASSERT_EQ(promise.get_future().get(), 100);
          tbb::parallel_for(
              0, 1000, [&](int) { note(); }, tbb::simple_partitioner{});  // that thread is there, too
        });
        ASSERT_EQ(away, 0U) << "domain " << d << ", limit " << threads;
      }
    }
  });
}

TEST(pinned, a_stack_resumed_in_a_section_without_a_worker_goes_on_while_its_caller_blocks) {
  in_own_process(four_by_two, [] {
    for (std::size_t threads = 2; threads < 4; ++threads) {
      const parallelism limit(parallelism::max_allowed_parallelism, threads);
      for (unsigned round = 0; round < 5 * domains; ++round) {
        std::promise<void> promise;
        std::atomic<tbb::task::suspend_point> point{nullptr};
        homing::pinned(round % domains, [&] {
          tbb::task_arena here(tbb::task_arena::attach{});
          here.enqueue([&] {
            tbb::task::suspend([&](tbb::task::suspend_point p) { point.store(p); });
            EXPECT_EQ(homing::current_domain(), domain_index{round % domains});
            promise.set_value();
          });
          await("the suspension", [&] { return point.load() != nullptr; });
          await("the worker's end of work", [] { return homing::testing::all_workers_rest(); });
          tbb::task::resume(point.load());
          promise.get_future().get();
        });
      }
    }
  });
}

/// Under a filter that refuses sched_setaffinity, as some sandboxes have.
TEST(pinned, a_section_whose_thread_cannot_be_bound_is_run_and_says_so_once) {
  in_own_process(four_by_two, [] {
    if (!homing::testing::refuse({SYS_sched_setaffinity}, EPERM)) GTEST_SKIP() << "no filter can be installed here";
    const parallelism limit(parallelism::max_allowed_parallelism, workers);
    ::testing::internal::CaptureStderr();
    {
      std::vector<std::jthread> callers;
      for (unsigned i = 0; i < 3; ++i) {
        callers.emplace_back([] {
          for (unsigned d = 0; d < domains; ++d) {
            homing::pinned(d, [d] { EXPECT_EQ(homing::current_domain(), domain_index{d}); });
          }
        });
      }
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    const std::string line = "cannot bind a thread to the domain of its pinned section: Operation not permitted";
    const std::size_t at = said.find(line);
    EXPECT_NE(at, std::string::npos) << said;
    EXPECT_EQ(said.find(line, at + 1), std::string::npos) << said;
  });
}

TEST(tasks, an_exception_that_leaves_an_enqueued_one_ends_the_program) {
  in_own_process(four_by_two, [] {
    const auto enqueue_one_that_throws = [] {
      homing::enqueue(on(0U), [] { throw std::runtime_error("nobody waits for this"); });
      homing::testing::await("the end of the program", [] { return false; });
    };
    EXPECT_DEATH(enqueue_one_that_throws(), "nobody waits for this|Unhandled exception");
  });
}

TEST(tasks, an_absent_domain_is_a_programmers_error) {
  in_own_process(four_by_two, [] {
    homing::task_group group;
    EXPECT_DEATH(group.run(on(4U), [] {}), "homing: spawn: there is no such domain");
    EXPECT_DEATH(homing::run_on(77U, [] {}), "homing: run_on: there is no such domain");
  });
}

}  // namespace
