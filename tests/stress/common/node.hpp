// A node of the random program: what a construct is told by the one around it, and what it checks.
#pragma once

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "ledger.hpp"
#include "resumer.hpp"
#include "rng.hpp"

namespace stress {

/// Kinds of constructs that a random program may use; a scenario picks a set of them.
enum feature : unsigned {
  feature_loop = 1u << 0,
  feature_fold = 1u << 1,  // reduce, scan, sort
  feature_pipeline = 1u << 2,
  feature_group = 1u << 3,
  feature_graph = 1u << 4,
  feature_arena = 1u << 5,
  feature_enqueue = 1u << 6,
  feature_isolate = 1u << 7,
  feature_cancel = 1u << 8,
  feature_throw = 1u << 9,
  feature_suspend = 1u << 10,
  feature_observer = 1u << 11,
  feature_control = 1u << 12,
  feature_critical = 1u << 13,  // graph nodes with a priority, whose tasks are critical
  feature_fork = 1u << 14,      // homing::fork_join() and for_children()
  feature_all = (1u << 15) - 1,
};

/// What all constructs of one round share. Owned by the round, outlives its constructs.
struct environment {
  int threads = 1;  // the parallelism that the round allows
  resumer* helper = nullptr;
  /// Arenas that several constructs enter at once. From within the i-th only later ones may be
  /// entered: two threads that each hold a slot and wait for the other's would be a deadlock.
  std::vector<std::unique_ptr<tbb::task_arena>> shared_arenas;
  std::vector<int> numa_nodes;
  /// True in rounds without suspensions, which may move a stack to another thread: then what a
  /// thread remembers about itself can be checked.
  bool threads_keep_stacks = true;
};

/// A construct that may be cut short, by a cancellation or by an exception thrown at it.
struct cut_scope {
  const cut_scope* outer = nullptr;
  tbb::task_group_context* context = nullptr;  // null: only an exception can cut it
  mutable std::atomic<bool> cut{false};        // set before the cancellation or the throw
};

/// Thrown at one scope; every construct in between must let it through.
struct cut_exception : std::exception {
  explicit cut_exception(const cut_scope* aimed_at) : target(aimed_at) {}
  const char* what() const noexcept override { return "thrown on purpose"; }
  const cut_scope* target;
};

/// Passed down by value.
struct node {
  environment* env = nullptr;
  std::uint64_t seed = 0;
  unsigned features = feature_all;
  int depth = 0;  // levels that may be nested inside
  int width = 1;  // the most items of a construct
  std::size_t first_shared_arena = 0;
  const cut_scope* scope = nullptr;

  /// The node of the `index`-th item inside a construct.
  [[nodiscard]] node child(std::size_t index) const {
    node inner = *this;
    inner.seed = derive(seed, index);
    inner.depth = depth - 1;
    return inner;
  }

  /// True when some construct around this one was cut short, so that items may be missing.
  [[nodiscard]] bool may_be_incomplete() const {
    for (const cut_scope* s = scope; s != nullptr; s = s->outer) {
      if (s->cut) return true;
    }
    return false;
  }
};

/// Runs `algorithm`, a blocking call that runs the items in `books`: whether it returns or throws,
/// nothing may still be running, and if nobody cut it short, everything must have run.
template <typename Algorithm>
void run_checked(const node& n, const ledger& books, const char* name, Algorithm&& algorithm) {
  try {
    algorithm();
  } catch (...) {
    if (!books.quiet()) fail(std::string(name) + ": threw while items were still running");
    throw;
  }
  if (!books.quiet()) fail(std::string(name) + ": returned while items were still running");
  if (!books.complete() && !n.may_be_incomplete()) {
    fail(std::string(name) + ": lost items: " + std::to_string(books.ran()) + " of " + std::to_string(books.size()) +
         " ran");
  }
}

/// The isolated region that the thread is in; null outside, or where execute() has lifted the isolation.
inline thread_local const void* isolated_region = nullptr;

/// Sets the region for a scope, in rounds in which threads keep their stacks.
class region_scope {
 public:
  region_scope(const environment& env, const void* region) : active_(env.threads_keep_stacks) {
    if (!active_) return;
    outer_ = isolated_region;
    isolated_region = region;
  }
  ~region_scope() {
    if (active_) isolated_region = outer_;
  }
  region_scope(const region_scope&) = delete;
  region_scope& operator=(const region_scope&) = delete;

 private:
  const bool active_;
  const void* outer_ = nullptr;
};

/// Runs the random program below `n`: a construct with nested ones, or a leaf.
void run_node(const node& n);

/// A leaf: a little work, perhaps a suspension, perhaps a cut of an enclosing scope.
void run_leaf(const node& n);

using construct = void (*)(const node&);

/// The constructs of each feature.
void loop_construct(const node& n);
void fold_construct(const node& n);
void pipeline_construct(const node& n);
void group_construct(const node& n);
void graph_construct(const node& n);
void arena_construct(const node& n);
void enqueue_construct(const node& n);
void isolate_construct(const node& n);
void cut_construct(const node& n);
void observer_construct(const node& n);
void control_construct(const node& n);
void fork_construct(const node& n);

}  // namespace stress
