// Where a variant's program runs: on one thread, in an arena of TBB's, or on an OpenMP team.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <omp.h>

#include <cstddef>

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

/// So many threads of TBB's at most, and nothing else: arenas are the program's own.
class tbb_limit : public one_thread {
 public:
  explicit tbb_limit(int threads)
      : one_thread(threads), limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)) {}

 private:
  tbb::global_control limit_;
};

/// An arena of so many threads, in which the program runs.
class tbb_threads {
 public:
  explicit tbb_threads(int threads) : limit_(threads), arena_(threads) {}
  template <class F>
  void enter(const F& f) {
    arena_.execute(f);
  }

 private:
  tbb_limit limit_;
  tbb::task_arena arena_;
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
