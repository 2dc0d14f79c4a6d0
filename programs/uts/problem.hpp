// Unbalanced tree search: counting the nodes of trees that nobody can divide beforehand, since each node's children
// come from a hash of its own. Source: Olivier et al., "UTS: an unbalanced tree search benchmark", 2006.
#pragma once

#include <homing/placement.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../common/variants.hpp"
#include "sha1.hpp"

namespace uts {

using programs::request;

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
inline constexpr tree trees[] = {{shape::geometric, 4, 7, 0, 0, 19, 63'914},
                                 {shape::geometric, 4, 10, 0, 0, 19, 4'130'071},
                                 {shape::binomial, 2000, 0, 0.124875, 8, 42, 4'112'897},
                                 {shape::geometric, 4, 13, 0, 0, 29, 102'181'082},
                                 {shape::binomial, 2000, 0, 0.200014, 5, 7, 111'345'631}};
inline constexpr programs::size_name sizes[] = {{"small", "T1 with 7 levels"},
                                                {"T1", "geometric, 4,130,071 nodes"},
                                                {"T3", "binomial, 4,112,897 nodes, 1,572 levels"},
                                                {"T1L", "geometric, 102 million"},
                                                {"T3L", "binomial, 111 million"}};

struct node {
  digest state;
  int depth;
};

/// The tree, and whether its nodes were counted.
class problem {
 public:
  explicit problem(const request& r) : tree_(trees[r.size]) {}
  void reset() {}
  [[nodiscard]] std::string wrong() const { return nodes_ == tree_.nodes ? "" : std::to_string(nodes_) + " nodes"; }
  /// Millions of nodes.
  [[nodiscard]] double amount() const { return static_cast<double>(tree_.nodes) / 1e6; }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {}; }

  [[nodiscard]] node root() const {
    const std::uint32_t seed[5] = {0, 0, 0, 0, tree_.seed};
    return {sha1(seed), 0};
  }
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
    return {sha1(own), n.depth + 1};
  }

 protected:
  std::uint64_t nodes_ = 0;

 private:
  const tree& tree_;
};

[[nodiscard]] inline programs::description about() noexcept {
  return {"uts", "Unbalanced tree search.", "Mnode", sizes};
}

}  // namespace uts
