// Unbalanced tree search: a tree that nobody can divide beforehand, made from a splittable hash.
//
// The shapes are those of the UTS paper (Olivier et al. 2006): geometric as T1 (b0 = 4, fixed shape)
// and binomial as T3 (m = 8), both smaller, and with our own hash instead of SHA-1. The trees do not
// depend on --seed: their sizes are known answers.
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cmath>

#include "../common/harness.hpp"

namespace {

struct tree_node {
  std::uint64_t state;
  int depth;
};

/// As many rounds as make a node cost about what a node of the serial UTS costs.
std::uint64_t child_state(std::uint64_t state, std::uint64_t child) {
  state ^= bench::mix(child + 1);
  for (int round = 0; round < 8; ++round) state = bench::mix(state);
  return state;
}

/// Uniform in [0, 1).
double uniform(std::uint64_t state) { return static_cast<double>(state >> 11) * 0x1.0p-53; }

struct geometric_tree {
  static constexpr int depth_max = 7;
  static constexpr std::uint64_t nodes = 56'198;
  static std::uint64_t children(const tree_node& node) {
    if (node.depth >= depth_max) return 0;
    constexpr double branching = 4.0;
    static const double log_failure = std::log(1.0 - 1.0 / (1.0 + branching));
    const double drawn = std::floor(std::log(1.0 - uniform(node.state)) / log_failure);
    return static_cast<std::uint64_t>(std::min(drawn, 100.0));
  }
};

/// Up to 284 levels deep.
struct binomial_tree {
  static constexpr std::uint64_t nodes = 149'537;
  static std::uint64_t children(const tree_node& node) {
    if (node.depth == 0) return 2000;
    return uniform(node.state) < 0.1225 ? 8 : 0;
  }
};

/// One counter a slot of the arena; a slot belongs to one thread at a time.
struct alignas(128) slot_counter {
  std::uint64_t nodes = 0;
};

template <typename Tree>
void search(tree_node node, std::vector<slot_counter>& counters) {
  ++counters[static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())].nodes;
  const std::uint64_t children = Tree::children(node);
  if (children == 0) return;
  tbb::task_group group;
  for (std::uint64_t child = 1; child < children; ++child) {
    const tree_node next{child_state(node.state, child), node.depth + 1};
    group.run([next, &counters] { search<Tree>(next, counters); });
  }
  search<Tree>({child_state(node.state, 0), node.depth + 1}, counters);
  group.wait();
}

template <typename Tree>
void run(bench::session& session, const char* name) {
  session.measure(name, [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      std::vector<slot_counter> counters(static_cast<std::size_t>(session.threads()) + 1);
      search<Tree>({bench::mix(42), 0}, counters);
      std::uint64_t nodes = 0;
      for (const slot_counter& counter : counters) nodes += counter.nodes;
      session.expect(nodes == Tree::nodes, "the number of nodes of the tree");
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "uts");
  run<geometric_tree>(session, "geometric");
  run<binomial_tree>(session, "binomial");
}
