// How long it takes until every thread has work: tasks, as many as threads, each of which waits for all others. Once
// with threads that sleep, once in a process that has not made them yet.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "../common/all_threads.hpp"
#include "../common/harness.hpp"
#include "../common/young_process.hpp"

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

void made(bench::session& session, const char* program) {
  session.measure("made", [&](std::uint64_t iterations, bench::stopwatch& watch) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      const bench::times young = bench::in_young_process(program, "made", session.threads());
      session.expect(young.wall_ns >= 0, "all threads of a new process come");
      watch.add_wall(young.wall_ns);
      watch.add_cpu(young.cpu_ns);
    }
  });
}

/// Its first use of TBB, with as many threads as its parent has been told.
bench::times first_use(const char* /*what*/, int threads) {
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  const std::int64_t cpu_before_ns = bench::process_cpu_ns();
  const std::int64_t wall_ns = arena.execute([&] { return bench::until_all_work(threads, longest_wait); });
  return {wall_ns, bench::process_cpu_ns() - cpu_before_ns};
}

}  // namespace

int main(int argc, char** argv) {
  if (bench::is_young(argc, argv)) return bench::be_young(argv, first_use);
  bench::session session(argc, argv, "ramp");
  woken(session);
  made(session, argv[0]);
  return session.end();
}
