// Trees of the unbalanced tree search: a node's children come from a splittable hash of its own.
//
// The shapes are those of the UTS paper (Olivier et al. 2006): geometric as T1 (b0 = 4, fixed shape)
// and binomial as T3 (m = 8), both smaller, and with our own hash instead of SHA-1. The trees do not
// depend on --seed: their sizes are known answers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "work.hpp"

namespace bench {

struct tree_node {
  std::uint64_t state;
  int depth;
};

/// As many rounds as make a node cost about what a node of the serial UTS costs.
inline std::uint64_t child_state(std::uint64_t state, std::uint64_t child) {
  state ^= mix(child + 1);
  for (int round = 0; round < 8; ++round) state = mix(state);
  return state;
}

/// Uniform in [0, 1).
inline double uniform(std::uint64_t state) { return static_cast<double>(state >> 11) * 0x1.0p-53; }

constexpr tree_node root_of_all_trees{mix(42), 0};

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

}  // namespace bench
