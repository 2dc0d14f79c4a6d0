// Constructs that may be cut short: by cancelling their context, or by an exception thrown at them.
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include "node.hpp"

namespace stress {
namespace {

/// Runs the items and takes the exceptions aimed at `own`; all others pass.
template <typename Algorithm>
void run_cut(const node& n, const ledger& books, const cut_scope& own, Algorithm&& algorithm) {
  bool threw = false;
  try {
    algorithm();
  } catch (const cut_exception& exception) {
    if (!books.quiet()) fail("an exception arrived while items were still running");
    if (exception.target != &own) throw;
    threw = true;
  }
  if (!books.quiet()) fail("a cut construct returned while items were still running");
  if (books.complete() || own.cut || n.may_be_incomplete()) return;
  fail(threw ? "an exception nobody threw" : "a construct that nobody cut lost items");
}

void cancelled_loop(const node& n, std::size_t items, tbb::task_group_context::kind_type kind) {
  tbb::task_group_context context(kind);
  cut_scope own;
  own.outer = n.scope;
  own.context = &context;
  node inside = n;
  inside.scope = &own;
  ledger books(items);
  run_cut(n, books, own, [&] {
    tbb::parallel_for(
        std::size_t{0}, items,
        [&](std::size_t i) {
          const ledger::entry entry(books, i);
          run_node(inside.child(i));
        },
        context);
  });
}

void throwing_loop(const node& n, std::size_t items) {
  cut_scope own;
  own.outer = n.scope;
  node inside = n;
  inside.scope = &own;
  ledger books(items);
  run_cut(n, books, own, [&] {
    tbb::parallel_for(std::size_t{0}, items, [&](std::size_t i) {
      const ledger::entry entry(books, i);
      run_node(inside.child(i));
    });
  });
}

/// A group that is cancelled or thrown at, and used again afterwards.
void reused_group(const node& n, std::size_t items) {
  tbb::task_group group;
  for (std::size_t repeat = 0; repeat < 2; ++repeat) {
    cut_scope own;
    own.outer = n.scope;
    node inside = n;
    inside.seed = derive(n.seed, 1000 + repeat);
    inside.scope = &own;
    ledger books(items);
    run_cut(n, books, own, [&] {
      for (std::size_t i = 0; i < items; ++i) {
        group.run([&, i] {
          const ledger::entry entry(books, i);
          run_node(inside.child(i));
        });
      }
      if (inside.seed % 4 == 0) {
        own.cut = true;
        group.cancel();
      }
      group.wait();
    });
  }
}

}  // namespace

void cut_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  const bool may_cancel = (n.features & feature_cancel) != 0;
  const bool may_throw = (n.features & feature_throw) != 0;
  switch (random.below(4)) {
    case 0:
      if (may_cancel) return cancelled_loop(n, items, tbb::task_group_context::bound);
      break;
    case 1:
      if (may_cancel) return cancelled_loop(n, items, tbb::task_group_context::isolated);
      break;
    case 2:
      if (may_throw) return reused_group(n, items);
      break;
    default:
      break;
  }
  if (may_throw) return throwing_loop(n, items);
  cancelled_loop(n, items, tbb::task_group_context::bound);
}

}  // namespace stress
