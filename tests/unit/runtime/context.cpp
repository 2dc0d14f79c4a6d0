// Contexts from the inside, one step after another: what a waiter's late reset leaves alone, and what binding keeps.
#include "runtime/task/context.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

namespace {

using homing::scheduler::context_access;
using tbb::task_group_context;

void throw_into(task_group_context& context, int value) {
  try {
    throw value;
  } catch (...) {
    context_access::capture_exception(context);
  }
}

int caught_from(task_group_context& context) {
  try {
    context_access::rethrow(context);
  } catch (int value) {
    return value;
  }
  return 0;
}

TEST(context, the_first_exception_is_kept_and_taken_once) {
  task_group_context context;
  throw_into(context, 1);
  throw_into(context, 2);
  EXPECT_TRUE(context.is_group_execution_cancelled());
  EXPECT_EQ(caught_from(context), 1);
  EXPECT_EQ(caught_from(context), 0);
  throw_into(context, 3);
  EXPECT_EQ(caught_from(context), 3) << "cancelled already, but it carried none";
}

TEST(context, a_waiters_reset_leaves_the_exceptions_of_newer_tasks) {
  task_group_context context(task_group_context::bound, task_group_context::concurrent_wait);
  EXPECT_EQ(caught_from(context), 0);  // a waiter looks, another one's task throws, the first waiter resets
  throw_into(context, 1);
  context.reset();
  EXPECT_FALSE(context.is_group_execution_cancelled());
  EXPECT_EQ(caught_from(context), 1);
}

TEST(context, a_reset_by_its_only_user_drops_the_exception) {
  task_group_context context;
  throw_into(context, 1);
  context.reset();
  EXPECT_EQ(caught_from(context), 0);
}

TEST(context, an_exception_that_nobody_takes_ends_with_its_context) {
  const auto exception = std::make_exception_ptr(std::string(1000, 'x'));  // a leak checker would find it
  task_group_context context;
  try {
    std::rethrow_exception(exception);
  } catch (...) {
    context_access::capture_exception(context);
  }
}

/// While another thread cancels and cancels, so that the binder meets its walks.
TEST(context, one_that_is_cancelled_before_its_first_use_stays_so) {
  auto& mine = homing::scheduler::make_context_list();
  auto& others = homing::scheduler::make_context_list();
  task_group_context arenas(task_group_context::isolated);
  std::atomic<bool> over{false};
  std::thread canceller([&] {
    task_group_context parent(task_group_context::isolated);
    task_group_context child;
    context_access::bind(child, &parent, arenas, others);
    while (!over) {
      parent.cancel_group_execution();
      parent.reset();
    }
  });
  task_group_context parent(task_group_context::isolated);
  unsigned lost = 0;
  for (unsigned round = 0; round < 200'000; ++round) {
    task_group_context child;
    child.cancel_group_execution();
    context_access::bind(child, &parent, arenas, mine);
    lost += child.is_group_execution_cancelled() ? 0U : 1U;
  }
  over = true;
  canceller.join();
  EXPECT_EQ(lost, 0U) << "cancellations taken back by a look at the parent";
}

TEST(context, an_arenas_own_is_nobodys_parent) {
  auto& mine = homing::scheduler::make_context_list();
  task_group_context arenas(task_group_context::isolated);
  task_group_context child;
  context_access::bind(child, &arenas, arenas, mine);
  arenas.cancel_group_execution();
  EXPECT_FALSE(child.is_group_execution_cancelled());
  EXPECT_EQ(mine.first, nullptr) << "an isolated context is on no list";
}

}  // namespace
