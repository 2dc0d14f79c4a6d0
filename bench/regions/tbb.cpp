// Parallel regions that each run in another arena than the one before, as Numba and libraries that constrain themselves
// do it: what shows is how fast threads leave an arena without work and come to the next one. A region is one loop over
// as many chunks as there are threads, each of some 20 us.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "../common/harness.hpp"

namespace {

constexpr std::uint64_t chunk_steps = 200 * bench::steps_100_ns;
constexpr int short_chunks = 16;
constexpr std::uint64_t short_chunk_steps = 5 * bench::steps_100_ns;

class regions {
 public:
  explicit regions(bench::session& session) : session_(session) {}

  /// One case: `run(region, body)` calls the body in some arena.
  template <typename Run>
  void measure(const char* name, Run run) {
    session_.measure(name, [&](std::uint64_t iterations) {
      std::atomic<std::uint64_t> chunks{0};
      for (std::uint64_t region = 0; region < iterations; ++region) {
        run(region, [&] { loop(session_.threads(), chunks); });
      }
      session_.expect(chunks == iterations * static_cast<std::uint64_t>(session_.threads()), "each chunk runs once");
    });
  }

  static void loop(int chunk_count, std::atomic<std::uint64_t>& done) {
    tbb::parallel_for(
        0, chunk_count,
        [&](int chunk) {
          bench::keep(bench::chain(static_cast<std::uint64_t>(chunk), chunk_steps));
          done.fetch_add(1, std::memory_order_relaxed);
        },
        tbb::simple_partitioner{});
  }

 private:
  bench::session& session_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "regions");
  const int threads = session.threads();
  regions all(session);

  all.measure("same_arena",
              [arena = std::make_shared<tbb::task_arena>(threads)](std::uint64_t, auto body) { arena->execute(body); });
  all.measure("fresh_arena", [&](std::uint64_t, auto body) { tbb::task_arena(threads).execute(body); });

  std::array<tbb::task_arena, 8> eight;
  for (tbb::task_arena& arena : eight) arena.initialize(threads);
  all.measure("eight_arenas", [&](std::uint64_t region, auto body) { eight[region % eight.size()].execute(body); });

  using level = tbb::task_arena::priority;
  constexpr std::array levels{level::low, level::normal, level::high};
  std::array<tbb::task_arena, 3> by_priority;
  for (std::size_t i = 0; i != levels.size(); ++i) by_priority[i].initialize(threads, 1, levels[i]);
  all.measure("three_priorities",
              [&](std::uint64_t region, auto body) { by_priority[region % levels.size()].execute(body); });

  all.measure("nested_fresh", [&](std::uint64_t, auto body) {
    tbb::task_arena(threads).execute([&] { tbb::task_arena(threads).execute(body); });
  });

  // An arena a node, as programs for such machines have it: tasks of a loop each go on in one of them, all at once.
  const int parts = std::min(threads, 4);
  std::vector<tbb::task_arena> side_by_side(static_cast<std::size_t>(parts));
  for (tbb::task_arena& arena : side_by_side) arena.initialize(threads / parts);
  session.measure("side_by_side", [&](std::uint64_t iterations) {
    std::atomic<std::uint64_t> chunks{0};
    for (std::uint64_t region = 0; region < iterations; ++region) {
      tbb::parallel_for(
          0, parts,
          [&](int part) {
            side_by_side[static_cast<std::size_t>(part)].execute([&] { regions::loop(threads / parts, chunks); });
          },
          tbb::simple_partitioner{});
    }
    session.expect(chunks == iterations * static_cast<std::uint64_t>(threads / parts * parts), "each chunk runs once");
  });

  // A library that lets its caller say how many threads it may use: a limit comes and goes with each short loop.
  session.measure("limited", [&](std::uint64_t iterations) {
    std::atomic<std::uint64_t> chunks{0};
    for (std::uint64_t region = 0; region < iterations; ++region) {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                      1 + region % static_cast<std::uint64_t>(threads));
      tbb::parallel_for(0, short_chunks, [&](int chunk) {
        bench::keep(bench::chain(static_cast<std::uint64_t>(chunk), short_chunk_steps));
        chunks.fetch_add(1, std::memory_order_relaxed);
      });
    }
    session.expect(chunks == iterations * std::uint64_t{short_chunks}, "each chunk runs once");
  });

  // Application threads that know nothing of each other: each has an arena of its own, and wants all workers.
  session.measure("side_by_side_threads", [&](std::uint64_t iterations) {
    std::atomic<std::uint64_t> chunks{0};
    std::vector<std::thread> callers;
    for (int part = 0; part < parts; ++part) {
      callers.emplace_back([&] {
        for (std::uint64_t region = 0; region < iterations; ++region) regions::loop(threads, chunks);
      });
    }
    for (std::thread& caller : callers) caller.join();
    session.expect(chunks == iterations * static_cast<std::uint64_t>(threads * parts), "each chunk runs once");
  });

  const tbb::task_arena::constraints on_node =
      tbb::task_arena::constraints{}.set_numa_id(tbb::info::numa_nodes().front()).set_max_concurrency(threads);
  all.measure("fresh_constrained", [&](std::uint64_t, auto body) { tbb::task_arena(on_node).execute(body); });
  return session.end();
}
