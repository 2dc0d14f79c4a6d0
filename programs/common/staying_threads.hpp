// Where a variant's program runs whose threads take no work of other domains.
#pragma once

#include <homing/steal_policy.hpp>

#include <oneapi/tbb/task_arena.h>

#include "tbb_threads.hpp"

namespace programs {

/// An arena of so many threads, each of which stays with what was sent to its domain.
class staying_threads {
 public:
  explicit staying_threads(int threads) : limit_(threads), arena_(threads) {
    homing::initialize(arena_, homing::steal_policy::domain);
  }
  template <class F>
  void enter(const F& f) {
    arena_.execute(f);
  }

 private:
  tbb_limit limit_;
  tbb::task_arena arena_;
};

}  // namespace programs
