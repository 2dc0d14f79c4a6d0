// What solvers without data in parts have in common: nothing to touch, to place or to reset.
#pragma once

#include <homing/placement.hpp>

#include <vector>

namespace programs {

struct solver_without_data {
  void reset() {}
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {}; }
};

}  // namespace programs
