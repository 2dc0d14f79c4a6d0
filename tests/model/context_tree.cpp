/// The tree of contexts: a cancellation reaches every child, whoever binds it or lists itself at that moment. Whoever
/// finds a context bound sees what its binder did. Method: every execution of two or three threads, on the production
/// tree, over oneTBB's own contexts; docs/protocols/contexts.md, labels C1 to C5 and C9.
#define __TBB_BUILD 1
#include <oneapi/tbb/detail/_small_object_pool.h>
#include <oneapi/tbb/detail/_task_handle.h>

#include "tbb_atomics.hpp"

// A model's atomic is larger than what these would allow.
#define static_assert(...) static_assert(true)
#define max_nfs_size \
  std::size_t { 1024 }
#include <oneapi/tbb/task_group.h>
#undef max_nfs_size
#undef static_assert

#include "pool_in_small.hpp"
#include "runtime/task/context.cpp"
#include "tbb/context.cpp"
#undef atomic

#include "engine/model.hpp"

namespace homing::scheduler {
bool terminate_on_exception() noexcept { return false; }
void ask_all_lanes() noexcept {}  // fork_lane.cpp has it
}  // namespace homing::scheduler

namespace {

using namespace homing;
using namespace homing::model;
using scheduler::context_access;
using scheduler::context_list;
using scheduler::contexts_of_this_thread;
using tbb::task_group_context;

/// A process in which nothing has happened yet, and a context that stands for its arena's own.
struct process {
  context_list lists[2];  ///< of the first two threads of an execution
  std::optional<task_group_context> own;
  std::optional<task_group_context> parent;

  process() {
    // As at the start: what earlier executions left is gone.
    std::construct_at(&strangers);
    std::construct_at(&scheduler::bind_fences);
    all_lists = &strangers;
    for (context_list& list : lists) {
      list.next_list = std::exchange(all_lists, &list);
    }
    own.emplace(task_group_context::isolated);
    parent.emplace();
    context_access::bind(*parent, nullptr, *own);
  }

  /// A context as its thread makes it.
  void make(int thread, std::optional<task_group_context>& child) {
    contexts_of_this_thread() = &lists[thread];
    child.emplace();
    contexts_of_this_thread() = nullptr;
  }
  /// As a thread that uses it first.
  void use(int thread, task_group_context& child) { use(lists[thread], child, *parent); }
  void use(context_list& mine, task_group_context& child, task_group_context& above) {
    contexts_of_this_thread() = &mine;
    if (!context_access::is_bound_or_isolated(child) && !context_access::bind_own(child, &above, *own, mine)) {
      context_access::bind(child, &above, *own);
    }
    contexts_of_this_thread() = nullptr;
  }
  void end(int thread, std::optional<task_group_context>& child) {
    contexts_of_this_thread() = &lists[thread];
    child.reset();
    contexts_of_this_thread() = nullptr;
  }
};

void require_cancelled(const task_group_context& child) {
  require(context_access::is_cancelled(child), "what is bound below is cancelled");
}

const scenario first_child("context tree: the first child beside a cancellation", {}, [] {
  process p;
  std::optional<task_group_context> child;
  p.make(0, child);
  threads({[&] { p.use(0, *child); }, [&] { context_access::cancel(*p.parent); }});
  require_cancelled(*child);
});

/// The canceller finds the first child's mark, and walks.
const scenario second_child("context tree: the second child beside a cancellation", {}, [] {
  process p;
  std::optional<task_group_context> first;
  std::optional<task_group_context> second;
  p.make(0, first);
  p.use(0, *first);
  p.make(0, second);
  threads({[&] { p.use(0, *second); }, [&] { context_access::cancel(*p.parent); }});
  require_cancelled(*first);
  require_cancelled(*second);
});

const scenario by_another("context tree: another thread than its maker binds, beside a cancellation", {}, [] {
  process p;
  std::optional<task_group_context> child;
  p.make(1, child);
  threads({[&] { p.use(0, *child); }, [&] { context_access::cancel(*p.parent); }});
  require_cancelled(*child);
});

const scenario by_both(
    "context tree: two use a context first, beside a cancellation", {.preemptions = 2, .sample_preemptions = 1}, [] {
      process p;
      std::optional<task_group_context> child;
      p.make(0, child);
      threads({[&] { p.use(0, *child); }, [&] { p.use(1, *child); }, [&] { context_access::cancel(*p.parent); }});
      require_cancelled(*child);
    });

const scenario grandchild("context tree: a child's child on another list, beside a cancellation", {}, [] {
  process p;
  std::optional<task_group_context> child;
  std::optional<task_group_context> below;
  p.make(1, child);
  p.use(1, *child);
  p.make(0, below);
  threads({[&] { p.use(p.lists[0], *below, *child); }, [&] { context_access::cancel(*p.parent); }});
  require_cancelled(*child);
  require_cancelled(*below);
});

/// [C4] The walk never touches what has ended.
const scenario ends("context tree: a child ends beside a cancellation", {}, [] {
  process p;
  std::optional<task_group_context> child;
  p.make(0, child);
  p.use(0, *child);
  threads({[&] { p.end(0, child); }, [&] { context_access::cancel(*p.parent); }});
  require(p.lists[0].first == nullptr, "no context is listed any more");
});

const scenario two_cancel("context tree: two cancellations, one within the other",
                          {.preemptions = 2, .sample_preemptions = 1}, [] {
                            process p;
                            std::optional<task_group_context> child;
                            std::optional<task_group_context> below;
                            p.make(0, child);
                            p.use(0, *child);
                            p.make(0, below);
                            threads({[&] { p.use(p.lists[0], *below, *child); },
                                     [&] { context_access::cancel(*p.parent); },
                                     [&] { context_access::cancel(*child); }});
                            require_cancelled(*child);
                            require_cancelled(*below);
                          });

/// A thread has a list from its first use of the library on.
const scenario new_list("context tree: a thread makes its list beside a cancellation",
                        {.preemptions = 3, .sample_preemptions = 1}, [] {
                          process p;
                          memory::object_pool& pool = memory::first_pool();
                          std::optional<task_group_context> child;
                          threads({[&] {
                                     context_list& mine = scheduler::make_context_list(pool);
                                     contexts_of_this_thread() = &mine;
                                     child.emplace();
                                     p.use(mine, *child, *p.parent);
                                   },
                                   [&] { context_access::cancel(*p.parent); }});
                          require_cancelled(*child);
                          contexts_of_this_thread() = nullptr;
                        });

// ---- what a look at the state shows

/// [C2] The parent is cancelled, and so is a child from the beginning.
const scenario seen_bound("context tree: a thread finds a context bound", {}, [] {
  process p;
  static_cast<void>(context_access::cancel(*p.parent));
  std::optional<task_group_context> child;
  p.make(0, child);
  threads({[&] { p.use(0, *child); },
           [&] {
             if (context_access::is_bound_or_isolated(*child)) {
               require_cancelled(*child);
             }
           }});
});

/// What its binder did before; its settings are no model's words.
const scenario seen_isolated("context tree: a thread finds a context isolated", {}, [] {
  process p;
  sync::plain<int> before = 0;
  std::optional<task_group_context> alone;
  p.make(0, alone);
  threads({[&] {
             before = 1;
             context_access::bind(*alone, nullptr, *p.own);
           },
           [&] {
             if (context_access::is_bound_or_isolated(*alone)) {
               require(before == 1, "it sees what the binder wrote");
             }
           }});
});

}  // namespace
