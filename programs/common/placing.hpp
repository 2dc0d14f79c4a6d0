// Data that was made elsewhere goes to its home, and what that takes is told.
#pragma once

#include <homing/placement.hpp>
#include <homing/topology.hpp>

#include <cstddef>

#include "../../bench/common/stopwatch.hpp"
#include "array.hpp"

namespace programs {

/// Bytes that were moved to their homes, and the time that took.
struct migration {
  std::size_t bytes = 0;
  double ms = 0;
};

/// Moves the pages of an array where a distribution of its elements says, keeps them there, and adds what that took.
template <class Dist, class T>
void place(const Dist& dist, array<T>& data, migration& took) {
  static_cast<void>(homing::topology::current());  // read once, whenever that is: no part of moving
  const std::int64_t begun_ns = bench::wall_ns();
  const homing::placement_report& report = data.place(dist);
  took.ms += static_cast<double>(bench::wall_ns() - begun_ns) / 1e6;
  took.bytes += report.moved * homing::page_bytes();
}

}  // namespace programs
