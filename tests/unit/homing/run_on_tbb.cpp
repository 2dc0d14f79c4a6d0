// What is sent somewhere. run_on and cancellation: what runs there is whole, whoever cancels around it, in the caller's
// own domain, in another, and on stock oneTBB. Results and callables of all kinds, pinned and enqueued, too.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_group.h>
#include <homing/pinned.hpp>
#include <homing/tasks.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"

namespace {

using homing::domain_index;
using homing::testing::environment;
using homing::testing::in_own_process;

const environment two_by_two{{"HOMING_TOPOLOGY", "node:2 core:2 pu:1"}};

int count_to_thousand() {
  std::atomic<int> count{0};
  tbb::parallel_for(0, 1000, [&](int) { ++count; });
  return count.load();
}

/// `body(domain)` in a task of a group, for each domain: in its own one the first time, then in others.
template <class Body>
void for_each_domain_in_a_task(Body&& body) {
  in_own_process(two_by_two, [&] {
    for (const std::size_t threads : {1, 4}) {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
      for (unsigned i = 0; i < homing::domain_count(); ++i) {
        tbb::task_group group;
        group.run_and_wait([&] {
          const unsigned own = to_index(homing::current_domain());
          body(domain_index{(own + i) % homing::domain_count()});
        });
      }
    }
  });
}

void cancel() { tbb::task::current_context()->cancel_group_execution(); }

TEST(run_on, a_cancellation_before_does_not_reach_in) {
  for_each_domain_in_a_task([](domain_index domain) {
    cancel();
    EXPECT_EQ(homing::run_on(domain, count_to_thousand), 1000);
    int count = 0;
    homing::run_on(domain, [&] { count = count_to_thousand(); });
    EXPECT_EQ(count, 1000);
    EXPECT_EQ(&homing::run_on(domain, [&]() -> int& { return count = count_to_thousand(); }), &count);
    EXPECT_EQ(count, 1000);
    EXPECT_TRUE(tbb::is_current_task_group_canceling());
  });
}

TEST(run_on, a_cancellation_meanwhile_does_not_reach_in) {
  for_each_domain_in_a_task([](domain_index domain) {
    tbb::task_group_context* const around = tbb::task::current_context();
    const int count = homing::run_on(domain, [&] {
      around->cancel_group_execution();
      return count_to_thousand();
    });
    EXPECT_EQ(count, 1000);
  });
}

TEST(run_on, values_and_exceptions_come_back_in_tasks) {
  for_each_domain_in_a_task([](domain_index domain) {
    auto seven = std::make_unique<int>(7);
    EXPECT_EQ(*homing::run_on(domain, [&] { return std::move(seven); }), 7);
    EXPECT_THROW(homing::run_on(domain, []() -> int { throw std::logic_error("x"); }), std::logic_error);
    EXPECT_FALSE(tbb::is_current_task_group_canceling());
    cancel();
    EXPECT_THROW(homing::run_on(domain, []() -> int { throw std::logic_error("x"); }), std::logic_error);
  });
}

/// What `run(f)` gives back of results of all kinds.
template <class Run>
void expect_results(Run&& run) {
  std::string text = "text";
  EXPECT_EQ(&run([&]() -> std::string& { return text; }), &text);
  std::string&& left_behind = run([&]() -> std::string&& { return std::move(text); });
  EXPECT_EQ(&left_behind, &text);
  EXPECT_EQ(run([]() -> const std::string { return "const"; }), "const");
  EXPECT_EQ(*run([] { return std::make_unique<int>(7); }), 7);
  EXPECT_THROW(run([]() -> int { throw std::logic_error("x"); }), std::logic_error);
  bool done = false;
  run([&] { done = true; });
  EXPECT_TRUE(done);
}

TEST(run_on, results_of_all_kinds) {
  for_each_domain_in_a_task([](domain_index domain) {
    expect_results([&](auto&& f) -> decltype(auto) { return homing::run_on(domain, f); });
  });
}

TEST(pinned, results_of_all_kinds) {
  for_each_domain_in_a_task([](domain_index domain) {
    expect_results([&](auto&& f) -> decltype(auto) { return homing::pinned(domain, f); });
    homing::domain_arena arena(domain);
    expect_results([&](auto&& f) -> decltype(auto) { return arena.execute(f); });
  });
}

TEST(enqueue, callables_may_change_themselves) {
  in_own_process(two_by_two, [] {
    std::atomic<int> sum{0};
    const auto add = [&sum, here = 1]() mutable { sum += here++; };
    tbb::task_arena arena(2);
    for (const homing::place where : {homing::place(), homing::on(0U)}) {
      homing::enqueue(where, add);
      homing::enqueue(arena, where, add);
      homing::enqueue(where, [&sum, one = std::make_unique<int>(1)]() mutable { sum += *std::exchange(one, nullptr); });
    }
    homing::testing::await("all that was enqueued", [&] { return sum == 6; });
  });
}

TEST(run_on, a_task_that_is_there_runs_it_on_its_own_thread) {
  in_own_process(two_by_two, [] {
    tbb::task_group group;
    group.run_and_wait([] {
      const auto self = std::this_thread::get_id();
      EXPECT_EQ(homing::run_on(homing::current_domain(), [] { return std::this_thread::get_id(); }), self);
    });
  });
}

}  // namespace
