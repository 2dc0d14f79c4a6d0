// Observers, of one arena and of all: entries and exits in pairs, while they come and go.
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <functional>

#include "faults.hpp"

namespace {

std::atomic<int> inside;

class watcher final : public tbb::task_scheduler_observer {
 public:
  watcher() { observe(true); }
  explicit watcher(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~watcher() override { observe(false); }
  void on_scheduler_entry(bool) override {
    ++inside;
    ++entries;
  }
  void on_scheduler_exit(bool) override { --inside; }
  std::atomic<int> entries{0};
};

void local() {
  tbb::task_arena arena(2);
  const watcher one(arena);
  faults::require(one.is_observing(), "an observer was switched on, and is off");
  arena.execute([] { tbb::parallel_for(0, 40, [](int) {}); });
  faults::require(one.entries > 0, "the caller's entry was not told");
  {
    watcher two(arena);
    arena.execute([] { tbb::parallel_for(0, 40, [](int) {}); });
    faults::require(two.entries > 0, "an entry was not told to the second observer");
  }
  arena.execute([] { tbb::parallel_for(0, 40, [](int) {}); });
}

void global() {
  const watcher all;
  tbb::parallel_for(0, 40, [](int) {});
  tbb::task_arena arena(2);
  arena.execute([] { tbb::parallel_for(0, 40, [](int) {}); });
  faults::require(all.entries > 0, "no entry was told");
}

}  // namespace

int main() {
  return faults::check([] {
    local();
    global();
  });
}
