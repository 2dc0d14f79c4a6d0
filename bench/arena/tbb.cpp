// Entering another arena and leaving it, without and with a NUMA constraint; and handing it tasks.
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <thread>

#include "../common/harness.hpp"

namespace {

void execute(bench::session& session, const char* name, tbb::task_arena& arena) {
  session.measure(name, [&](std::uint64_t iterations) {
    std::uint64_t calls = 0;
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      arena.execute([&] { ++calls; });
    }
    session.expect(calls == iterations, "every call is made");
  });
}

/// From just before enqueue() until the task begins, one task at a time.
void enqueue_latency(bench::session& session, tbb::task_arena& arena) {
  session.measure("enqueue_latency", [&](std::uint64_t iterations, bench::stopwatch& watch) {
    const std::int64_t cpu_before_ns = bench::process_cpu_ns();
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      std::atomic<std::int64_t> begun_ns{0};
      const std::int64_t sent_ns = bench::wall_ns();
      arena.enqueue([&] { begun_ns.store(bench::wall_ns(), std::memory_order_release); });
      while (begun_ns.load(std::memory_order_acquire) == 0) std::this_thread::yield();
      watch.add_wall(begun_ns.load(std::memory_order_relaxed) - sent_ns);
    }
    watch.add_cpu(bench::process_cpu_ns() - cpu_before_ns);
  });
}

/// A burst of tasks, until the last has run.
void enqueue_throughput(bench::session& session, tbb::task_arena& arena) {
  session.measure("enqueue_throughput", [&](std::uint64_t iterations) {
    std::atomic<std::uint64_t> executed{0};
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      arena.enqueue([&] { executed.fetch_add(1, std::memory_order_release); });
    }
    while (executed.load(std::memory_order_acquire) != iterations) std::this_thread::yield();
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "arena");
  tbb::task_arena other(session.threads());
  tbb::task_arena on_node(tbb::task_arena::constraints{}
                              .set_numa_id(tbb::info::numa_nodes().front())
                              .set_max_concurrency(session.threads()));
  execute(session, "execute_unconstrained", other);
  execute(session, "execute_numa", on_node);
  enqueue_latency(session, other);
  enqueue_throughput(session, other);
  return session.end();
}
