// Constructs: parallel_for with every partitioner and range, parallel_for_each, parallel_invoke.
#include <tbb/blocked_range2d.h>
#include <tbb/blocked_range3d.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/partitioner.h>

#include <numeric>

#include "node.hpp"

namespace stress {
namespace {

template <typename Partitioner>
void plain_loop(const node& n, std::size_t items, Partitioner&& partitioner, const char* name) {
  ledger books(items);
  run_checked(n, books, name, [&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, items),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t i = range.begin(); i != range.end(); ++i) {
            const ledger::entry entry(books, i);
            run_node(n.child(i));
          }
        },
        partitioner);
  });
}

/// The same partitioner object several times over: what it remembers must not lose items.
void replayed_loop(const node& n, std::size_t items) {
  tbb::affinity_partitioner partitioner;
  for (std::size_t repeat = 0; repeat < 3; ++repeat) {
    node again = n;
    again.seed = derive(n.seed, 1000 + repeat);
    plain_loop(again, items, partitioner, "parallel_for(affinity)");
  }
}

void flat_loop(const node& n, std::size_t items) {
  ledger books(items);
  run_checked(n, books, "parallel_for(index)", [&] {
    tbb::parallel_for(std::size_t{0}, items, [&](std::size_t i) {
      const ledger::entry entry(books, i);
      run_node(n.child(i));
    });
  });
}

void square_loop(const node& n, std::size_t side) {
  ledger books(side * side);
  run_checked(n, books, "parallel_for(2d)", [&] {
    tbb::parallel_for(tbb::blocked_range2d<std::size_t>(0, side, 0, side), [&](const auto& range) {
      for (std::size_t i = range.rows().begin(); i != range.rows().end(); ++i) {
        for (std::size_t j = range.cols().begin(); j != range.cols().end(); ++j) {
          const ledger::entry entry(books, i * side + j);
          run_node(n.child(i * side + j));
        }
      }
    });
  });
}

void cube_loop(const node& n, std::size_t side) {
  ledger books(side * side * side);
  run_checked(n, books, "parallel_for(3d)", [&] {
    tbb::parallel_for(
        tbb::blocked_range3d<std::size_t>(0, side, 0, side, 0, side),
        [&](const auto& range) {
          for (std::size_t i = range.pages().begin(); i != range.pages().end(); ++i) {
            for (std::size_t j = range.rows().begin(); j != range.rows().end(); ++j) {
              for (std::size_t k = range.cols().begin(); k != range.cols().end(); ++k) {
                const std::size_t item = (i * side + j) * side + k;
                const ledger::entry entry(books, item);
                run_leaf(n.child(item));
              }
            }
          }
        },
        tbb::simple_partitioner{});
  });
}

/// A feeder that grows a complete binary tree: item i feeds 2i+1 and 2i+2.
void feeding_loop(const node& n, std::size_t items) {
  ledger books(items);
  const std::vector<std::size_t> roots(1, 0);
  run_checked(n, books, "parallel_for_each(feeder)", [&] {
    tbb::parallel_for_each(roots, [&](std::size_t i, tbb::feeder<std::size_t>& feeder) {
      const ledger::entry entry(books, i);
      if (2 * i + 1 < items) feeder.add(2 * i + 1);
      if (2 * i + 2 < items) feeder.add(2 * i + 2);
      run_node(n.child(i));
    });
  });
}

void each_loop(const node& n, std::size_t items) {
  ledger books(items);
  std::vector<std::size_t> indices(items);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  run_checked(n, books, "parallel_for_each", [&] {
    tbb::parallel_for_each(indices.begin(), indices.end(), [&](std::size_t i) {
      const ledger::entry entry(books, i);
      run_node(n.child(i));
    });
  });
}

void invoke_three(const node& n) {
  ledger books(3);
  const auto item = [&](std::size_t i) {
    return [&n, &books, i] {
      const ledger::entry entry(books, i);
      run_node(n.child(i));
    };
  };
  run_checked(n, books, "parallel_invoke", [&] { tbb::parallel_invoke(item(0), item(1), item(2)); });
}

}  // namespace

void loop_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  switch (random.below(10)) {
    case 0:
      return plain_loop(n, items, tbb::simple_partitioner{}, "parallel_for(simple)");
    case 1:
      return plain_loop(n, items, tbb::auto_partitioner{}, "parallel_for(auto)");
    case 2:
      return plain_loop(n, items, tbb::static_partitioner{}, "parallel_for(static)");
    case 3:
      return replayed_loop(n, items);
    case 4:
      return flat_loop(n, items);
    case 5:
      return square_loop(n, items / 3 + 1);
    case 6:
      return cube_loop(n, 4);
    case 7:
      return feeding_loop(n, items);
    case 8:
      return each_loop(n, items);
    default:
      return invoke_three(n);
  }
}

}  // namespace stress
