// Tasks that throw, in loops, groups and nested contexts: what arrives is one of theirs, or says that memory ran out.
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <stdexcept>

#include "faults.hpp"

namespace {

struct own final : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "a task's own exception"; }
};

template <class Work>
void must_throw(Work&& work) {
  try {
    work();
  } catch (const own&) {
    return;
  }
  throw faults::wrong{"an exception of a task did not arrive"};
}

void in_loops() {
  must_throw([] {
    tbb::parallel_for(0, 100, [](int i) {
      if (i == 57) throw own();
    });
  });
  must_throw([] {
    tbb::parallel_for(0, 8, [](int i) {
      tbb::parallel_for(0, 8, [i](int j) {
        if (i * j == 35) throw own();
      });
    });
  });
  must_throw([] {
    tbb::task_group_context context(tbb::task_group_context::isolated);
    tbb::parallel_for(
        0, 50, [](int) { throw own(); }, context);
  });
}

void in_groups() {
  must_throw([] {
    tbb::task_group group;
    try {
      for (int i = 0; i < 20; ++i) group.run([] { throw own(); });
    } catch (...) {
      // Out of memory while tasks throw: both are reported, this one first; the group is empty afterwards.
      try {
        group.wait();
      } catch (const own&) {
      }
      throw;
    }
    group.wait();
  });
  must_throw([] {
    tbb::task_arena arena(2);
    arena.execute([] { tbb::parallel_for(0, 20, [](int) { throw own(); }); });
  });
  must_throw([] {
    tbb::task_arena arena(2);
    arena.execute([] { throw own(); });
  });
  must_throw([] { tbb::this_task_arena::isolate([] { throw own(); }); });
}

void caught_inside() {
  static std::atomic<int> caught;
  caught = 0;
  tbb::parallel_for(0, 20, [](int) {
    try {
      tbb::parallel_for(0, 4, [](int j) {
        if (j == 2) throw own();
      });
    } catch (const own&) {
      ++caught;
    }
  });
  faults::require(caught == 20, "exceptions caught inside of tasks: not each once");
}

}  // namespace

int main() {
  return faults::check([] {
    in_loops();
    in_groups();
    caught_inside();
  });
}
