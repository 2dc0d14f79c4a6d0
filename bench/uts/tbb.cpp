// Unbalanced tree search: a tree that nobody can divide beforehand, made from a splittable hash.
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "../common/harness.hpp"
#include "../common/uts_trees.hpp"

namespace {

using bench::binomial_tree;
using bench::child_state;
using bench::geometric_tree;
using bench::tree_node;

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
      search<Tree>(bench::root_of_all_trees, counters);
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
  return session.end();
}
