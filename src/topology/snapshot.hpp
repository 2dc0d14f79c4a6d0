/// What a public snapshot holds: the machine, and its lists in the public types.
#pragma once

#include <homing/topology.hpp>

#include <memory>
#include <vector>

#include "topology/machine.hpp"

namespace homing::topology {

struct snapshot::data {
  std::shared_ptr<const machine> source;
  std::vector<domain_info> domains;
  std::vector<node_info> nodes;
  cuts cut;
  unsigned memory_nodes = 1;

  explicit data(std::shared_ptr<const machine> from);
};

/// A snapshot of a given machine: for tests, and for tools that look at files.
[[nodiscard]] snapshot make_snapshot(std::shared_ptr<const machine> from);

/// Changes with each refresh(), so that a thread can keep what it derived from the current snapshot. Errors: as
/// topology::current().
[[nodiscard]] unsigned long current_generation();

/// Makes a snapshot the current one until the next refresh(): for tests.
void set_current(const snapshot& machine);

}  // namespace homing::topology
