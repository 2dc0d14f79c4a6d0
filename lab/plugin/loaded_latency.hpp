/// What load adds to a latency: the share of a controller or link that is in use makes each transfer through it later.
///
/// An empirical law, not a theory of queues. Intel's Memory Latency Checker measures a chain's latency beside streams;
/// of four published listings of two-socket Xeons, latencies at 10 to 90% of the bandwidth are within 8% of 1 + 0.43 u
/// + 0.4 u^4 times the idle one, u being the share of the highest bandwidth. At saturation the queues of capacity.hpp
/// come on top.
///
/// Threads: none of its own.
/// Source:  tests/unit/lab/loaded_latency.cpp has the listings and where they are from; docs/protocols/lab_model.md
///          [LM13].
#pragma once

#include "units.hpp"

namespace homing::lab::model {

/// What a transfer that takes `idle` takes longer where the busiest part of its way has `load`, from 0 to 1.
[[nodiscard]] inline ticks added_by_load(ticks idle, double load) noexcept {
  const double square = load * load;
  return static_cast<ticks>(static_cast<double>(idle) * (0.43 * load + 0.4 * square * square));
}

}  // namespace homing::lab::model
