// Suspended tasks, resumed by another thread and by other tasks: every one goes on, or never was suspended.
#include <tbb/parallel_for.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <functional>

#include "faults.hpp"

namespace {

constexpr int count = 16;

/// Points handed to a thread that resumes them; fixed room, so that handing over cannot fail.
class resumer {
 public:
  resumer() : thread_([this] { run(); }) {}
  ~resumer() { stop_ = true; }
  resumer(const resumer&) = delete;
  resumer& operator=(const resumer&) = delete;

  void hand_over(tbb::task::suspend_point point) noexcept {
    // A free place is always found: there are as many as tasks.
    for (;;) {
      for (auto& p : points_) {
        tbb::task::suspend_point none = nullptr;
        if (p.compare_exchange_strong(none, point)) return;
      }
    }
  }

 private:
  void run() {
    while (!stop_) {
      for (auto& p : points_) {
        if (tbb::task::suspend_point point = p.exchange(nullptr)) tbb::task::resume(point);
      }
      sched_yield();
    }
  }
  std::atomic<tbb::task::suspend_point> points_[count * 4] = {};
  std::atomic<bool> stop_{false};
  faults::helper<std::function<void()>> thread_;
};

void by_a_thread() {
  static std::atomic<int> done;
  done = 0;
  resumer helper;
  const auto nap = [&helper] { tbb::task::suspend([&helper](tbb::task::suspend_point p) { helper.hand_over(p); }); };
  tbb::task_group group;
  for (int i = 0; i < count; ++i) {
    group.run([&nap] {
      nap();
      tbb::parallel_for(0, 4, [](int) {});
      nap();
      ++done;
    });
  }
  group.wait();
  faults::require(done == count, "suspended tasks: not each went on");
  nap();  // a stack of the application's
  tbb::task_arena arena(2);
  arena.execute([&nap] {
    nap();
    tbb::parallel_for(0, 8, [&nap](int) { nap(); });
  });
}

void by_itself() {
  static std::atomic<int> done;
  done = 0;
  tbb::parallel_for(0, count, [](int) {
    tbb::task::suspend([](tbb::task::suspend_point p) { tbb::task::resume(p); });
    ++done;
  });
  faults::require(done == count, "tasks that resume themselves: not each went on");
}

}  // namespace

int main() {
  return faults::check([] {
    by_itself();
    by_a_thread();
  });
}
