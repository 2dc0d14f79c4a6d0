// Where a variant's program runs: in an arena of TBB's.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <cstddef>

#include "threads.hpp"

namespace programs {

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

 protected:
  [[nodiscard]] tbb::task_arena& arena() noexcept { return arena_; }

 private:
  tbb_limit limit_;
  tbb::task_arena arena_;
};

}  // namespace programs
