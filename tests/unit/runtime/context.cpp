// Contexts from the inside, one step after another: what a waiter's late reset leaves alone, and what binding keeps.
#include "runtime/task/context.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace {

using homing::scheduler::context_access;
using tbb::task_group_context;

void throw_into(task_group_context& context, int value) {
  context_access::run_into(context, [value] { throw value; });
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
  const auto thrown = std::make_shared<int>(0);
  {
    task_group_context context;
    context_access::run_into(context, [&] { throw std::shared_ptr<int>(thrown); });
    EXPECT_EQ(thrown.use_count(), 2) << "the context keeps it";
  }
  EXPECT_EQ(thrown.use_count(), 1);
}

/// In a pool that nobody else uses.
homing::scheduler::context_list& new_list() {
  return homing::scheduler::make_context_list(homing::memory::object_pool::acquire(0));
}

/// The calling thread makes contexts of that list for a scope.
class makes_contexts_of {
 public:
  explicit makes_contexts_of(homing::scheduler::context_list& list) {
    homing::scheduler::contexts_of_this_thread() = &list;
  }
  ~makes_contexts_of() { homing::scheduler::contexts_of_this_thread() = nullptr; }
  makes_contexts_of(const makes_contexts_of&) = delete;
  makes_contexts_of& operator=(const makes_contexts_of&) = delete;
};

/// While another thread cancels and cancels, so that the binder meets its walks.
TEST(context, one_that_is_cancelled_before_its_first_use_stays_so) {
  auto& mine = new_list();
  auto& others = new_list();
  const makes_contexts_of here(mine);
  task_group_context arenas(task_group_context::isolated);
  std::atomic<bool> over{false};
  std::thread canceller([&] {
    const makes_contexts_of there(others);
    task_group_context parent(task_group_context::isolated);
    task_group_context child;
    context_access::bind(child, &parent, arenas);
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
    context_access::bind(child, &parent, arenas);
    lost += child.is_group_execution_cancelled() ? 0U : 1U;
  }
  over = true;
  canceller.join();
  EXPECT_EQ(lost, 0U) << "cancellations taken back by a look at the parent";
}

TEST(context, an_arenas_own_is_nobodys_parent) {
  auto& mine = new_list();
  const makes_contexts_of here(mine);
  task_group_context arenas(task_group_context::isolated);
  task_group_context child;
  context_access::bind(child, &arenas, arenas);
  arenas.cancel_group_execution();
  EXPECT_FALSE(child.is_group_execution_cancelled());
  EXPECT_EQ(mine.first, nullptr) << "an isolated context is on no list";
}

/// [C9] One context, two binders with different parents, and the context's maker is one of them or neither.
TEST(context, is_bound_once_whoever_comes_first) {
  auto& mine = new_list();
  const makes_contexts_of here(mine);
  task_group_context arenas(task_group_context::isolated);
  task_group_context first(task_group_context::isolated);
  task_group_context second(task_group_context::isolated);
  std::atomic<unsigned> round{0};
  std::atomic<task_group_context*> shared{nullptr};
  constexpr unsigned rounds = 20'000;
  std::thread other([&] {
    for (unsigned r = 0; r < rounds; ++r) {
      task_group_context* context = nullptr;
      while ((context = shared.exchange(nullptr)) == nullptr) {
        std::this_thread::yield();
      }
      context_access::bind(*context, &second, arenas);
      round = r + 1;
    }
  });
  unsigned children_of_both = 0;
  unsigned children_of_none = 0;
  for (unsigned r = 0; r < rounds; ++r) {
    task_group_context context;
    shared = &context;
    context_access::bind(context, &first, arenas);
    while (round.load() != r + 1) {
      std::this_thread::yield();
    }
    first.cancel_group_execution();
    const bool of_first = context.is_group_execution_cancelled();
    context.reset();
    second.cancel_group_execution();
    const bool of_second = context.is_group_execution_cancelled();
    children_of_both += of_first && of_second ? 1U : 0U;
    children_of_none += of_first || of_second ? 0U : 1U;
    first.reset();
    second.reset();
  }
  other.join();
  EXPECT_EQ(children_of_both, 0U);
  EXPECT_EQ(children_of_none, 0U);
}

/// Made before its thread used the library, and so of no thread's list: it is found all the same.
TEST(context, of_a_thread_without_a_list_is_found_by_a_cancellation) {
  task_group_context arenas(task_group_context::isolated);
  task_group_context parent(task_group_context::isolated);
  task_group_context child;
  task_group_context grandchild;
  context_access::bind(child, &parent, arenas);
  const makes_contexts_of here(new_list());
  context_access::bind(grandchild, &child, arenas);
  parent.cancel_group_execution();
  EXPECT_TRUE(child.is_group_execution_cancelled());
  EXPECT_TRUE(grandchild.is_group_execution_cancelled());
}

/// [C1] One binds a child while another cancels: the child is cancelled, or was bound to a parent that had children.
TEST(context, a_child_that_is_bound_meanwhile_is_cancelled) {
  homing::sync::prepare_asymmetric_fences();
  task_group_context arenas(task_group_context::isolated);
  std::atomic<task_group_context*> parent_of_round{nullptr};
  std::atomic<unsigned> cancelled{0};
  constexpr unsigned rounds = 20'000;
  std::thread canceller([&] {
    for (unsigned r = 0; r < rounds; ++r) {
      task_group_context* parent = nullptr;
      while ((parent = parent_of_round.exchange(nullptr)) == nullptr) {
        std::this_thread::yield();
      }
      parent->cancel_group_execution();
      cancelled = r + 1;
    }
  });
  auto& mine = new_list();
  const makes_contexts_of here(mine);
  unsigned missed = 0;
  for (unsigned r = 0; r < rounds; ++r) {
    task_group_context parent(task_group_context::isolated);
    task_group_context child;
    parent_of_round = &parent;
    for (unsigned wait = r % 256; wait > 0; --wait) {
      homing::sync::cpu_relax();
    }
    context_access::bind(child, &parent, arenas);
    while (cancelled.load() != r + 1) {
      std::this_thread::yield();
    }
    missed += child.is_group_execution_cancelled() ? 0U : 1U;
  }
  canceller.join();
  EXPECT_EQ(missed, 0U) << "children of a cancelled context that go on";
}

}  // namespace
