// Where the time of a short static loop goes: until its last chunk begins, which is a chain of hand-overs as long as
// the tree is deep, and from its last chunk's end until the call returns. Loops run back to back, a chunk a thread.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../common/harness.hpp"

namespace {

/// Of one chunk; a line of its own.
struct alignas(128) chunk_times {
  std::int64_t begun_ns = 0;
  std::int64_t ended_ns = 0;
};

struct loop_times {
  std::int64_t called_ns;
  std::int64_t last_begun_ns;
  std::int64_t last_ended_ns;
  std::int64_t returned_ns;
};

loop_times static_loop(std::vector<chunk_times>& chunks) {
  loop_times times{};
  times.called_ns = bench::wall_ns();
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, chunks.size(), 1),
      [&](const tbb::blocked_range<std::size_t>& part) {
        for (std::size_t i = part.begin(); i != part.end(); ++i) {
          chunks[i].begun_ns = bench::wall_ns();
          bench::keep(bench::chain(i, 15 * bench::steps_100_ns));
          chunks[i].ended_ns = bench::wall_ns();
        }
      },
      tbb::static_partitioner());
  times.returned_ns = bench::wall_ns();
  for (const chunk_times& c : chunks) {
    times.last_begun_ns = std::max(times.last_begun_ns, c.begun_ns);
    times.last_ended_ns = std::max(times.last_ended_ns, c.ended_ns);
  }
  return times;
}

/// `from(times)` and `to(times)`: the step's ends.
template <class From, class To>
void step(bench::session& session, const char* name, From&& from, To&& to) {
  std::vector<chunk_times> chunks(static_cast<std::size_t>(session.threads()));
  session.measure(name,
                  [&](std::uint64_t iterations, bench::stopwatch& watch) {
                    const std::int64_t cpu_before_ns = bench::process_cpu_ns();
                    for (std::uint64_t i = 0; i != iterations; ++i) {
                      const loop_times times = static_loop(chunks);
                      session.expect(times.called_ns <= times.last_begun_ns && times.last_ended_ns <= times.returned_ns,
                                     "chunks run within their loop");
                      watch.add_wall(to(times) - from(times));
                    }
                    watch.add_cpu(bench::process_cpu_ns() - cpu_before_ns);
                  },
                  {.iterations_max = 2000});
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "loop_steps");
  step(
      session, "last_begin", [](const loop_times& t) { return t.called_ns; },
      [](const loop_times& t) { return t.last_begun_ns; });
  step(
      session, "after_last_end", [](const loop_times& t) { return t.last_ended_ns; },
      [](const loop_times& t) { return t.returned_ns; });
  return session.end();
}
