// The random program: which construct a node becomes, and what a leaf does.
#include "node.hpp"

#include <thread>

#include "burn.hpp"

namespace stress {
namespace {

struct choice {
  unsigned feature;
  int weight;
  construct run;
};

constexpr choice choices[] = {
    {feature_loop, 6, loop_construct},         {feature_fold, 3, fold_construct},
    {feature_pipeline, 2, pipeline_construct}, {feature_group, 5, group_construct},
    {feature_graph, 2, graph_construct},       {feature_arena, 3, arena_construct},
    {feature_enqueue, 2, enqueue_construct},   {feature_isolate, 2, isolate_construct},
    {feature_cancel, 2, cut_construct},        {feature_throw, 2, cut_construct},
    {feature_observer, 1, observer_construct}, {feature_control, 1, control_construct},
    {feature_fork, 5, fork_construct},
};

/// Cuts a random enclosing scope short.
void cut_something(const node& n, rng& random) {
  const cut_scope* target = n.scope;
  while (target->outer != nullptr && random.one_in(3)) target = target->outer;
  target->cut = true;
  if (target->context == nullptr) throw cut_exception(target);
  target->context->cancel_group_execution();
}

}  // namespace

void run_leaf(const node& n) {
  rng random(n.seed);
  note_progress();
  switch (random.below(8)) {
    case 0:
      burn(random.below(20000));
      break;
    case 1:
      std::this_thread::yield();
      break;
    default:
      burn(random.below(500));
      break;
  }
  if ((n.features & feature_suspend) != 0 && random.one_in(12)) {
    suspend_once(*n.env->helper, random.next());
  }
  if (n.scope != nullptr && random.one_in(24)) cut_something(n, random);
}

void run_node(const node& n) {
  if (n.depth <= 0) return run_leaf(n);
  rng random(n.seed);
  if (random.one_in(6)) return run_leaf(n);
  int total = 0;
  for (const choice& c : choices) {
    if ((n.features & c.feature) != 0) total += c.weight;
  }
  require(total > 0, "a scenario must allow at least one construct");
  int drawn = random.below(total);
  for (const choice& c : choices) {
    if ((n.features & c.feature) == 0) continue;
    drawn -= c.weight;
    if (drawn < 0) {
      node chosen = n;
      chosen.seed = random.next();
      return c.run(chosen);
    }
  }
}

}  // namespace stress
