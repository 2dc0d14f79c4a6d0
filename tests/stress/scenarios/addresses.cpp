// A scenario of tasks and loops with addresses: nested groups, detached calls, enqueues, pinned sections,
// distributions.
#include <tbb/global_control.h>
#include <homing/parallel_for.hpp>
#include <homing/parallel_reduce.hpp>
#include <homing/pinned.hpp>
#include <homing/tasks.hpp>

#include "common/scenario.hpp"

namespace stress {
namespace {

constexpr int depth_max = 3;

homing::place anywhere(rng& own) {
  const auto domains = static_cast<int>(homing::domain_count());
  return own.one_in(4) ? homing::place() : homing::on(static_cast<std::uint32_t>(own.below(domains)));
}

homing::domain_index some_domain(rng& own) {
  return homing::domain_index{static_cast<std::uint32_t>(own.below(static_cast<int>(homing::domain_count())))};
}

struct expected_error {};

class addressed_tree {
 public:
  /// Returns how many leaves have run; throws expected_error if a leaf below did.
  int grow(std::uint64_t seed, int depth) {
    rng own(seed);
    note_progress();
    if (depth == 0) {
      burn(100);
      if (own.one_in(400)) throw expected_error{};
      return 1;
    }
    switch (own.below(6)) {
      case 0:
        return homing::run_on(some_domain(own), [&] { return grow(derive(seed, 1), depth - 1); });
      case 1:
        return homing::pinned(some_domain(own), [&] { return grow(derive(seed, 2), depth - 1); });
      case 2:
        return loop(own, seed, depth);
      case 3: {
        int leaves = 0;
        tbb::this_task_arena::isolate([&] { leaves = group(own, seed, depth); });
        return leaves;
      }
      default:
        return group(own, seed, depth);
    }
  }

 private:
  int group(rng& own, std::uint64_t seed, int depth) {
    std::atomic<int> leaves{0};
    homing::task_group children;
    const int count = own.between(1, 8);
    for (int i = 0; i < count; ++i) {
      children.run(anywhere(own),
                   [&, i] { leaves.fetch_add(grow(derive(seed, 10 + static_cast<std::uint64_t>(i)), depth - 1)); });
    }
    static_cast<void>(children.wait());  // cancelled, if an error around it has cancelled all
    return leaves.load();
  }

  int loop(rng& own, std::uint64_t seed, int depth) {
    const auto size = static_cast<std::size_t>(own.between(1, 60));
    const tbb::blocked_range<std::size_t> range(0, size);
    const auto body = [&](const tbb::blocked_range<std::size_t>& r, int sum) {
      for (std::size_t i = r.begin(); i != r.end(); ++i) sum += grow(derive(seed, 100 + i), depth > 1 ? 0 : depth - 1);
      return sum;
    };
    const auto add = [](int a, int b) { return a + b; };
    const int leaves = own.one_in(2) ? homing::parallel_reduce(range, 0, body, add, homing::block(size))
                                     : homing::parallel_reduce(range, 0, body, add, homing::block_cyclic(size, 4));
    if (tbb::is_current_task_group_canceling()) return leaves;
    require(leaves == static_cast<int>(size), "addresses: a loop lost items");
    ledger books(size);
    homing::parallel_for(
        std::size_t{0}, size, [&](std::size_t i) { const ledger::entry once(books, i); }, homing::cyclic(size));
    require(books.complete() || tbb::is_current_task_group_canceling(), "addresses: a loop did not run each item once");
    return leaves;
  }
};

}  // namespace

/// Several application threads grow trees; enqueued tasks with addresses go beside them, under a limit that changes.
void addressed_trees(const round& r) {
  rng random(r.seed);
  std::atomic<int> enqueued{0};
  std::atomic<int> ran{0};
  run_threads(random.between(1, 4), [&](int t) {
    rng own(derive(r.seed, static_cast<std::uint64_t>(t)));
    for (int i = 0; i < 4; ++i) {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                      static_cast<std::size_t>(own.between(1, r.threads)));
      enqueued.fetch_add(1);
      homing::enqueue(anywhere(own), [&ran] { ran.fetch_add(1); });
      try {
        static_cast<void>(
            addressed_tree{}.grow(derive(r.seed, 1000 + static_cast<std::uint64_t>(4 * t + i)), depth_max));
      } catch (const expected_error&) {
      }
    }
  });
  wait_until([&] { return ran.load() == enqueued.load(); });
}

}  // namespace stress
