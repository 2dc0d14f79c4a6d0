// The lattices in their homes' memory.
#pragma once

#include <homing/distributed_array.hpp>

#include "problem.hpp"

namespace jacobi_program {

class solver_at_home : public solver_in<homing::distributed_array<double>> {
 public:
  explicit solver_at_home(const request& r)
      : solver_in(r, [](const problem& p) {
          return homing::distributed_array<double>(p.homes_of_values(), homing::uninitialized);
        }) {}
};

}  // namespace jacobi_program
