// Whole processes: from the call that makes one until it has ended. One that does nothing, one with a loop, one with a
// loop in an arena of its own, and one whose first loop comes beside threads of its own.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <latch>
#include <thread>
#include <vector>

#include "../common/harness.hpp"

extern char** environ;

namespace {

constexpr int indices = 100;

std::int64_t cpu_ns_of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto ns = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_usec * 1'000; };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

/// Runs this program once more as `what`; true if it ended well.
bool run_process(const char* program, const char* what) {
  const char* const arguments[] = {program, "--be", what, nullptr};
  pid_t child = 0;
  int status = 0;
  return posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char* const*>(arguments), environ) == 0 &&
         waitpid(child, &status, 0) == child && status == 0;
}

bool loop() {
  std::atomic<int> visited{0};
  tbb::parallel_for(0, indices, [&](int) { visited.fetch_add(1, std::memory_order_relaxed); });
  return visited == indices;
}

bool loop_in_arena() {
  bool right = false;
  tbb::task_arena(2).execute([&] { right = loop(); });
  return right;
}

/// The threads are there before the first use of TBB, and until it has ended.
bool loop_beside_threads() {
  constexpr int others = 2;
  std::latch here(others + 1);
  std::latch done(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < others; ++i) {
    threads.emplace_back([&] {
      here.arrive_and_wait();
      done.wait();
    });
  }
  here.arrive_and_wait();
  const bool right = loop();
  done.count_down();
  for (std::thread& t : threads) t.join();
  return right;
}

struct kind {
  const char* name;
  bool (*run)();
};
constexpr kind kinds[] = {{"nothing", [] { return true; }},
                          {"first_loop", loop},
                          {"first_arena", loop_in_arena},
                          {"beside_threads", loop_beside_threads}};

int be(const char* what) {
  for (const kind& k : kinds) {
    if (std::strcmp(k.name, what) == 0) return k.run() ? 0 : 1;
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--be") == 0) return be(argv[2]);
  bench::session session(argc, argv, "process");
  for (const kind& k : kinds) {
    session.measure(k.name, [&](std::uint64_t iterations, bench::stopwatch& watch) {
      for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
        const std::int64_t cpu_before_ns = cpu_ns_of_children();
        const std::int64_t begin_ns = bench::wall_ns();
        const bool ended_well = run_process(argv[0], k.name);
        watch.add_wall(bench::wall_ns() - begin_ns);
        watch.add_cpu(cpu_ns_of_children() - cpu_before_ns);
        session.expect(ended_well, "the process ends well");
      }
    });
  }
  return session.end();
}
