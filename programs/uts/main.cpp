// Unbalanced tree search: counting the nodes of trees that nobody can divide beforehand, since each node's children
// come from a hash of its own. Source: Olivier et al., "UTS: an unbalanced tree search benchmark", 2006.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "../common/models.hpp"
#include "../common/solver_parts.hpp"
#include "sha1.hpp"

namespace {

using namespace programs;

enum class shape { geometric, binomial };
struct tree {
  shape kind;
  double root;    ///< geometric: the mean of children at each level; binomial: children of the root
  int depth_max;  ///< of geometric ones, all of whose levels have the same mean
  double chance;  ///< of binomial ones: that a node has children,
  int children;   ///< and how many
  std::uint32_t seed;
  std::uint64_t nodes;
};
constexpr tree trees[] = {{shape::geometric, 4, 7, 0, 0, 19, 63'914},
                          {shape::geometric, 4, 10, 0, 0, 19, 4'130'071},
                          {shape::binomial, 2000, 0, 0.124875, 8, 42, 4'112'897},
                          {shape::geometric, 4, 13, 0, 0, 29, 102'181'082},
                          {shape::binomial, 2000, 0, 0.200014, 5, 7, 111'345'631}};
constexpr size_name sizes[] = {{"small", "T1 with 7 levels"},
                               {"T1", "geometric, 4,130,071 nodes"},
                               {"T3", "binomial, 4,112,897 nodes, 1,572 levels"},
                               {"T1L", "geometric, 102 million"},
                               {"T3L", "binomial, 111 million"}};

struct node {
  uts::digest state;
  int depth;
};

template <class Model>
class solver : public solver_without_data {
 public:
  solver(const request& r, Model& model) : model_(model), tree_(trees[r.size]) {}
  void run() {
    const std::uint32_t seed[5] = {0, 0, 0, 0, tree_.seed};
    const node root{uts::sha1(seed), 0};
    model_.root([&] { nodes_ = count(root); });
  }
  [[nodiscard]] std::string wrong() const { return nodes_ == tree_.nodes ? "" : std::to_string(nodes_) + " nodes"; }
  /// Millions of nodes.
  [[nodiscard]] double amount() const { return static_cast<double>(tree_.nodes) / 1e6; }

 private:
  [[nodiscard]] std::size_t children_of(const node& n) const {
    const double drawn = (n.state[4] & 0x7FFFFFFFU) * 0x1p-31;
    if (tree_.kind == shape::binomial) {
      if (n.depth == 0) return static_cast<std::size_t>(tree_.root);
      return drawn < tree_.chance ? static_cast<std::size_t>(tree_.children) : 0;
    }
    if (n.depth >= tree_.depth_max) return 0;
    return static_cast<std::size_t>(
        std::min(100.0, std::floor(std::log(1 - drawn) / std::log(1 - 1 / (1 + tree_.root)))));
  }
  static node child_of(const node& n, std::size_t i) {
    const std::uint32_t own[6] = {n.state[0], n.state[1], n.state[2],
                                  n.state[3], n.state[4], static_cast<std::uint32_t>(i)};
    return {uts::sha1(own), n.depth + 1};
  }
  std::uint64_t count(const node& n) {
    const std::size_t children = children_of(n);
    if (children == 0) return 1;
    std::atomic<std::uint64_t> below{1};
    // relaxed: the join of the children orders it before the load.
    const auto child = [&](std::size_t i) { below.fetch_add(count(child_of(n, i)), std::memory_order_relaxed); };
    if (n.depth == 0) {
      deal(model_, children, child);
    } else {
      model_.all(children, child);
    }
    return below.load(std::memory_order_relaxed);
  }

  Model& model_;
  const tree& tree_;
  std::uint64_t nodes_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return run_tasks<solver>(argc, argv, {"uts", "Unbalanced tree search.", "Mnode", sizes});
}
