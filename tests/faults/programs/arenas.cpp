// Arenas: execute from several threads, enqueue, constraints, priorities, isolation, limits, and the end of all
// workers.
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <functional>
#include <optional>

#include "faults.hpp"

namespace {

void loop_in(tbb::task_arena& arena) {
  static std::atomic<int> seen;
  const int before = seen;
  arena.execute([] { tbb::parallel_for(0, 40, [](int) { ++seen; }); });
  faults::require(seen >= before + 40, "execute: not each item once");
}

void many() {
  for (int i = 0; i < 6; ++i) {
    tbb::task_arena arena(1 + i % 3, static_cast<unsigned>(i % 2),
                          static_cast<tbb::task_arena::priority>(i % 3 + 1) == tbb::task_arena::priority::normal
                              ? tbb::task_arena::priority::normal
                              : tbb::task_arena::priority::high);
    loop_in(arena);
  }
  tbb::task_arena outer(2);
  outer.execute([] {
    tbb::task_arena inner(2);
    loop_in(inner);
    tbb::this_task_arena::isolate([] { tbb::parallel_for(0, 20, [](int) {}); });
  });
  static_cast<void>(tbb::this_task_arena::max_concurrency());
}

void constrained() {
  const auto nodes = tbb::info::numa_nodes();
  for (const auto node : nodes) {
    tbb::task_arena arena(tbb::task_arena::constraints{}.set_numa_id(node).set_max_concurrency(2));
    loop_in(arena);
  }
  static_cast<void>(tbb::info::core_types());
  static_cast<void>(tbb::info::default_concurrency(tbb::task_arena::constraints{}.set_max_threads_per_core(1)));
}

void several_threads() {
  tbb::task_arena arena(2);
  std::atomic<int> seen{0};
  std::atomic<int> wanted{0};
  std::atomic<bool> short_of_memory{false};
  {
    const auto work = [&] {
      try {
        arena.execute([&] {
          tbb::task_group group;
          group.run([&] { ++seen; });
          ++wanted;
          group.wait();
        });
      } catch (const std::bad_alloc&) {
        short_of_memory = true;
      }
    };
    const faults::helper<std::function<void()>> one(work);
    const faults::helper<std::function<void()>> two(work);
    const faults::helper<std::function<void()>> three(work);
  }
  if (short_of_memory) throw std::bad_alloc();
  faults::require(seen == wanted && wanted == 3, "execute by several threads: not each once");
}

void limited() {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_arena arena(4);
  loop_in(arena);
  const tbb::global_control more(tbb::global_control::thread_stack_size, 1U << 20U);
  loop_in(arena);
}

void finalized() {
  tbb::task_scheduler_handle handle{tbb::attach{}};
  tbb::parallel_for(0, 40, [](int) {});
  static_cast<void>(tbb::finalize(handle, std::nothrow));
  tbb::parallel_for(0, 40, [](int) {});
}

}  // namespace

int main() {
  return faults::check([] {
    many();
    constrained();
    several_threads();
    limited();
    finalized();
  });
}
