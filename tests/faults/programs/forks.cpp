// A process that used TBB forks: parent and child go on with forks of branches and loops of their own.
#include <sys/wait.h>

#include <csignal>

#include <homing/fork_join.hpp>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "faults.hpp"

namespace {

long deep(int depth) {
  if (depth == 0) return 1;
  const auto [below, here] = homing::fork_join([depth] { return deep(depth - 1); }, [] { return 1L; });
  return below + here;
}

void use() {
  std::atomic<int> seen{0};
  tbb::parallel_for(0, 60, [&](int) { ++seen; });
  tbb::task_arena arena(2);
  arena.execute([&] { tbb::parallel_for(0, 60, [&](int) { ++seen; }); });
  tbb::task_group group;
  group.run([&] { ++seen; });
  group.wait();
  faults::require(seen == 121, "not each item once");
}

/// Deeper than the lane's array that the parent has made, for whose successor there may be no memory, as there may be
/// none for an arena of the child's.
void use_in_child() {
  faults::require(deep(300) == 301, "not each branch once");
  use();
}

}  // namespace

int main() {
  return faults::check([] {
    use();
    faults::require(deep(10) == 11, "not each branch once");
    const pid_t child = ::fork();
    if (child == 0) _exit(faults::once(use_in_child));
    faults::require(child > 0, "fork failed");
    std::exception_ptr trouble;
    try {
      use();
    } catch (...) {
      trouble = std::current_exception();
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
    }
    if (trouble != nullptr) std::rethrow_exception(trouble);
    if (WIFSIGNALED(status)) ::raise(WTERMSIG(status));  // as the child ends, so does this: it has said why, or not
    faults::require(WIFEXITED(status), "the child has not ended");
    faults::require(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3, "the child's result is wrong");
    if (WEXITSTATUS(status) == 3) throw std::bad_alloc();
  });
}
