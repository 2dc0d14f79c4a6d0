// How long it takes until every thread has work: tasks, as many as threads, each of which waits for all others. Once
// with threads that sleep, once in a process that has not made them yet.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "../common/all_threads.hpp"
#include "../common/harness.hpp"

namespace {

constexpr auto pause_time = std::chrono::milliseconds(10);
constexpr std::int64_t watch_ns = 1'000'000;
constexpr auto longest_wait = std::chrono::seconds(20);

/// Whether the kernel says of all threads but this one that they sleep.
bool others_sleep() {
  const std::string self = std::to_string(gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == self) continue;
    std::string line;
    std::getline(std::ifstream(task.path() / "stat"), line);
    const std::size_t state = line.rfind(") ");  // a thread's name may contain anything
    if (state != std::string::npos && line[state + 2] != 'S') return false;
  }
  return true;
}

/// Until all workers sleep; false if some never do. In the lab a sleeping thread's time is the guest kernel's, and
/// nearly none by the model's clock, by which a library looks for work before it sleeps. So this thread watches that
/// clock for a while each time. A library may look for milliseconds.
bool let_workers_sleep() {
  std::this_thread::sleep_for(pause_time);
  const auto give_up = std::chrono::steady_clock::now() + longest_wait;
  for (int quiet_looks = 0; quiet_looks != 2;) {
    const std::int64_t until_ns = bench::wall_ns() + watch_ns;
    while (bench::wall_ns() < until_ns) {
    }
    quiet_looks = others_sleep() ? quiet_looks + 1 : 0;
    if (std::chrono::steady_clock::now() > give_up) return false;
  }
  return true;
}

void woken(bench::session& session) {
  session.measure("woken", [&](std::uint64_t iterations, bench::stopwatch& watch) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      session.expect(let_workers_sleep(), "all threads sleep");
      const std::int64_t cpu_before_ns = bench::process_cpu_ns();
      const std::int64_t ns = bench::until_all_work(session.threads(), longest_wait);
      session.expect(ns >= 0, "all threads come");
      watch.add_wall(ns);
      watch.add_cpu(bench::process_cpu_ns() - cpu_before_ns);
    }
  });
}

struct times {
  std::int64_t wall_ns;
  std::int64_t cpu_ns;
};

/// In a process of its own, which has used nothing of TBB before. All -1 if it fails.
times in_young_process(const char* program, int threads) {
  times read_times{-1, -1};
  int ends[2];
  if (pipe(ends) != 0) return read_times;
  const std::string count = std::to_string(threads);
  const std::string answer_to = std::to_string(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    execl("/proc/self/exe", program, "--young", count.c_str(), answer_to.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  const bool complete = read(ends[0], &read_times, sizeof read_times) == static_cast<ssize_t>(sizeof read_times);
  close(ends[0]);
  int status = 0;
  const bool ended_well = child > 0 && waitpid(child, &status, 0) == child && status == 0;
  return complete && ended_well ? read_times : times{-1, -1};
}

void made(bench::session& session, const char* program) {
  session.measure("made", [&](std::uint64_t iterations, bench::stopwatch& watch) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      const times young = in_young_process(program, session.threads());
      session.expect(young.wall_ns >= 0, "all threads of a new process come");
      watch.add_wall(young.wall_ns);
      watch.add_cpu(young.cpu_ns);
    }
  });
}

/// The child's side: its first use of TBB, with as many threads as its parent has been told.
int be_young(const char* count, const char* answer_to) {
  const int threads = std::atoi(count);
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  const std::int64_t cpu_before_ns = bench::process_cpu_ns();
  times young{};
  young.wall_ns = arena.execute([&] { return bench::until_all_work(threads, longest_wait); });
  young.cpu_ns = bench::process_cpu_ns() - cpu_before_ns;
  return write(std::atoi(answer_to), &young, sizeof young) == static_cast<ssize_t>(sizeof young) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--young") == 0) return be_young(argv[2], argv[3]);
  bench::session session(argc, argv, "ramp");
  woken(session);
  made(session, argv[0]);
  return session.end();
}
