/// A machine of four nodes for tests that stand in for its kernel.
#pragma once

#include "topology/snapshot.hpp"
#include "unit/common/topology_fixture.hpp"

namespace homing::testing {

/// Four nodes of two CPUs, claimed to be this computer: not virtual, so that the calls are made.
inline topology::snapshot four_real_nodes() {
  platform::cpu_set mask;
  for (int cpu = 0; cpu < 8; ++cpu) mask.add(cpu_id{cpu});
  const platform::node_set memory{node_id{0}, node_id{1}, node_id{2}, node_id{3}};
  return topology::make_snapshot(topology::testing::read_or_fail(
      topology::testing::claimed({.from = topology::source::origin::synthetic, .text = "node:4 core:2 pu:1"},
                                 {.mask = mask, .memory_nodes = memory})));
}

}  // namespace homing::testing
