// task_group: run, defer, wait, run_and_wait, nested and cancelled groups: each task once, or an exception at the wait.
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include <utility>

#include "faults.hpp"

namespace {

std::atomic<int> seen;
std::atomic<int> under_way;

struct visit {
  visit() { ++under_way; }
  ~visit() { --under_way; }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
};

void flat() {
  seen = 0;
  {
    tbb::task_group group;
    for (int i = 0; i < 200; ++i) {
      group.run([] {
        const visit here;
        ++seen;
      });
    }
    group.run(group.defer([] { ++seen; }));
    group.wait();
    faults::require(seen == 201, "group: not each task once");
    group.run_and_wait([] { ++seen; });
    faults::require(seen == 202, "run_and_wait: not once");
  }
}

int fibonacci(int n) {
  if (n < 2) return n;
  int a = 0;
  int b = 0;
  tbb::task_group group;
  // A group whose run() threw is waited for, as its user must.
  try {
    group.run([&a, n] { a = fibonacci(n - 1); });
    b = fibonacci(n - 2);
  } catch (...) {
    group.cancel();
    group.wait();
    throw;
  }
  group.wait();
  return a + b;
}

void cancelled() {
  seen = 0;
  tbb::task_group group;
  for (int i = 0; i < 50; ++i) group.run([] { ++seen; });
  group.cancel();
  group.wait();
  faults::require(seen <= 50, "cancelled group: a task ran twice");
  seen = 0;
  group.run([] { ++seen; });
  group.wait();
  faults::require(seen == 1, "a group after a cancellation: its task did not run");
}

/// What a group that is left by an exception must see to.
void all_ended() { faults::require(under_way == 0, "a task was under way when its group had gone"); }

}  // namespace

int main() {
  return faults::check([] {
    try {
      flat();
      faults::require(fibonacci(10) == 55, "nested groups: a wrong sum");
      cancelled();
    } catch (const faults::wrong&) {
      throw;
    } catch (...) {
      all_ended();
      throw;
    }
    all_ended();
  });
}
