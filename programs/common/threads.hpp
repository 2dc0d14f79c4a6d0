// Where a variant's program runs: on one thread, whose OpenMP teams may have more. TBB's are in tbb_threads.hpp.
#pragma once

#include <omp.h>

namespace programs {

/// A plain program; or one whose arenas have threads of their own.
class one_thread {
 public:
  explicit one_thread(int) {}
  template <class F>
  void enter(const F& f) {
    f();
  }
};

/// OpenMP's teams have so many threads.
class openmp_threads : public one_thread {
 public:
  explicit openmp_threads(int threads) : one_thread(threads) {
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
  }
};

}  // namespace programs
