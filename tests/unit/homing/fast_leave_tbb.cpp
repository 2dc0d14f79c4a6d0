// Arenas that their workers leave fast: what they may take of work for another domain they take before they leave, and
// do not come back for it for ever.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/tasks.hpp>

#include <atomic>

#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"

namespace {

using homing::on;
using homing::testing::await;
using homing::testing::environment;
using homing::testing::in_own_process;
using tbb::task_arena;

const environment two_by_two{{"HOMING_TOPOLOGY", "node:2 core:2 pu:1"}};
constexpr int threads = 4;
constexpr int threads_a_domain = 2;

/// Tasks for a domain that hold their threads, as many as it has, until the end.
class busy_domain {
 public:
  template <typename Run>
  busy_domain(unsigned home, Run&& run) {
    for (int i = 0; i < threads_a_domain; ++i) {
      run(on(home), [this] {
        ++begun_;
        await("the end", [this] { return over_.load(); });
      });
    }
    await("all to begin", [this] { return begun_ == threads_a_domain; });
  }
  void end() { over_ = true; }

 private:
  std::atomic<int> begun_{0};
  std::atomic<bool> over_{false};
};

TEST(fast_leave, work_for_a_domain_that_is_busy_in_the_arena_is_run_by_another) {
  in_own_process(two_by_two, [] {
    task_arena arena(threads, 1, task_arena::priority::normal, task_arena::leave_policy::fast);
    arena.execute([] {
      const unsigned other = 1 - to_index(homing::current_domain());
      homing::task_group group;
      busy_domain held(other, [&](auto home, auto&& body) { group.run(home, body); });
      std::atomic<bool> done{false};
      group.run(on(other), [&] { done = true; });
      await("an idle worker of the other domain", [&] { return done.load(); });
      held.end();
      group.wait();
    });
  });
}

TEST(fast_leave, work_for_a_domain_that_is_busy_in_another_arena_is_run_by_another) {
  in_own_process(two_by_two, [] {
    task_arena busy(threads);
    task_arena fast(threads, 1, task_arena::priority::high, task_arena::leave_policy::fast);
    busy_domain held(1, [&](auto home, auto&& body) { homing::enqueue(busy, home, body); });
    std::atomic<bool> done{false};
    homing::enqueue(fast, on(1U), [&] { done = true; });
    await("an idle worker of the other domain", [&] { return done.load(); });
    held.end();
  });
}

}  // namespace
