// Naive Fibonacci: two children a call and no work, so that only the cost of fork and join shows.
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_group.h>

#include "../common/harness.hpp"

namespace {

constexpr int argument = 24;
constexpr int answer = 46368;

int fib_task_group(int n) {
  if (n < 2) return n;
  int left = 0;
  tbb::task_group children;
  children.run([&] { left = fib_task_group(n - 1); });
  const int right = fib_task_group(n - 2);
  children.wait();
  return left + right;
}

int fib_parallel_invoke(int n) {
  if (n < 2) return n;
  int left = 0;
  int right = 0;
  tbb::parallel_invoke([&] { left = fib_parallel_invoke(n - 1); }, [&] { right = fib_parallel_invoke(n - 2); });
  return left + right;
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "fib");
  const auto run = [&](int (*fib)(int)) {
    return [&session, fib](std::uint64_t iterations) {
      for (std::uint64_t index = 0; index < iterations; ++index) {
        session.expect(fib(argument) == answer, "fib(24) is 46368");
      }
    };
  };
  session.measure("task_group", run(fib_task_group));
  session.measure("parallel_invoke", run(fib_parallel_invoke));
  return session.end();
}
