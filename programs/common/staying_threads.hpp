// Where a variant's program runs whose threads take no work of other domains.
#pragma once

#include <homing/steal_policy.hpp>

#include "tbb_threads.hpp"

namespace programs {

/// An arena of so many threads, each of which stays with what was sent to its domain.
class staying_threads : public tbb_threads {
 public:
  explicit staying_threads(int threads) : tbb_threads(threads) {
    homing::initialize(arena(), homing::steal_policy::domain);
  }
};

}  // namespace programs
