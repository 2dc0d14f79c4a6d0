// Enqueued tasks: each that enqueue() took is run, though nobody waits in the arena and whatever else fails.
#include <homing/tasks.hpp>

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <functional>

#include "faults.hpp"

namespace {

template <class Send>
void all_run(Send&& send) {
  static std::atomic<int> ran;
  ran = 0;
  int taken = 0;
  std::exception_ptr trouble;
  for (int i = 0; i < 60 && trouble == nullptr; ++i) {
    try {
      send([] { ++ran; }, i);
      ++taken;
    } catch (...) {
      trouble = std::current_exception();
    }
  }
  faults::await("the enqueued tasks", [&] { return ran >= taken; });
  if (trouble != nullptr) std::rethrow_exception(trouble);
  faults::require(ran == 60, "an enqueued task ran twice");
}

}  // namespace

int main() {
  return faults::check([] {
    tbb::task_arena arena(3);
    all_run([&](auto task, int) { arena.enqueue(task); });
    tbb::task_arena workers_only(2, 0);
    all_run([&](auto task, int) { workers_only.enqueue(task); });
    tbb::task_arena alone(1, 1);
    all_run([&](auto task, int) { alone.enqueue(task); });
    all_run([&](auto task, int) { tbb::this_task_arena::enqueue(task); });
    all_run([&](auto task, int i) {
      homing::enqueue(arena, homing::on(static_cast<unsigned>(i) % homing::domain_count()), task);
    });
    tbb::task_group group;
    arena.enqueue(group.defer([] {}));
    arena.execute([&] { group.wait(); });
  });
}
