// What the first work costs after a pause of 10 ms, long enough for every worker to have gone to sleep; and what a loop
// costs after a serial part of 0.5 ms, as programs have between two loops.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "../common/harness.hpp"

namespace {

constexpr auto pause_time = std::chrono::milliseconds(10);

/// Wake-ups in one iteration: a repetition's time is their sum.
constexpr std::uint64_t wakeups = 4;

/// 64 indices of about 2 us each: worth sharing, and short enough for the wake-up to matter.
template <class Pause>
void loop_after(bench::session& session, const char* name, std::uint64_t loops, const Pause& pause) {
  session.measure(name, [&](std::uint64_t iterations, bench::stopwatch& watch) {
    for (std::uint64_t iteration = 0; iteration < iterations * loops; ++iteration) {
      pause();
      std::atomic<int> done{0};
      watch.start();
      tbb::parallel_for(0, 64, [&](int index) {
        bench::keep(bench::chain(static_cast<std::uint64_t>(index), 20 * bench::steps_100_ns));
        done.fetch_add(1, std::memory_order_relaxed);
      });
      watch.stop();
      session.expect(done.load() == 64, "every index is visited");
    }
  });
}

void first_loop(bench::session& session) {
  loop_after(session, "first_loop", wakeups, [] { std::this_thread::sleep_for(pause_time); });
}

/// This thread works meanwhile.
void loop_after_serial_part(bench::session& session) {
  loop_after(session, "after_serial_500us", 20 * wakeups, [] {
    const std::int64_t end_ns = bench::wall_ns() + 500'000;
    while (bench::wall_ns() < end_ns) bench::keep(bench::chain(1, bench::steps_100_ns));
  });
}

/// From run() until another thread begins the task; this one lends no hand meanwhile.
void second_thread(bench::session& session) {
  if (session.threads() == 1) return;
  session.measure("second_thread", [&](std::uint64_t iterations, bench::stopwatch& watch) {
    for (std::uint64_t iteration = 0; iteration < iterations * wakeups; ++iteration) {
      std::this_thread::sleep_for(pause_time);
      std::atomic<std::int64_t> begun_ns{0};
      tbb::task_group group;
      const std::int64_t cpu_before_ns = bench::process_cpu_ns();
      const std::int64_t sent_ns = bench::wall_ns();
      group.run([&] { begun_ns.store(bench::wall_ns(), std::memory_order_release); });
      while (begun_ns.load(std::memory_order_acquire) == 0) std::this_thread::yield();
      watch.add_wall(begun_ns.load(std::memory_order_relaxed) - sent_ns);
      watch.add_cpu(bench::process_cpu_ns() - cpu_before_ns);
      group.wait();
    }
  });
}

/// From enqueue() until the task begins.
void enqueue(bench::session& session) {
  tbb::task_arena arena(session.threads());
  session.measure("enqueue", [&](std::uint64_t iterations, bench::stopwatch& watch) {
    for (std::uint64_t iteration = 0; iteration < iterations * wakeups; ++iteration) {
      std::this_thread::sleep_for(pause_time);
      std::atomic<std::int64_t> begun_ns{0};
      const std::int64_t cpu_before_ns = bench::process_cpu_ns();
      const std::int64_t sent_ns = bench::wall_ns();
      arena.enqueue([&] { begun_ns.store(bench::wall_ns(), std::memory_order_release); });
      while (begun_ns.load(std::memory_order_acquire) == 0) std::this_thread::yield();
      watch.add_wall(begun_ns.load(std::memory_order_relaxed) - sent_ns);
      watch.add_cpu(bench::process_cpu_ns() - cpu_before_ns);
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "wakeup");
  first_loop(session);
  loop_after_serial_part(session);
  second_thread(session);
  enqueue(session);
  return session.end();
}
