// parallel_for with every partitioner over bodies of no and of little work, and the awkward shapes:
// loops in loops, work that piles up at one end, and many loops that are over at once.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include <numeric>
#include <type_traits>

#include "../common/harness.hpp"

namespace {

using range = tbb::blocked_range<std::size_t>;

/// Counts visits to each index, so that a lost or a repeated one is noticed.
class visits {
 public:
  explicit visits(std::size_t size) : counts_(size, 0) {}
  /// Called at most once at a time for one index.
  void mark(std::size_t index) noexcept { ++counts_[index]; }
  [[nodiscard]] bool all(std::uint64_t expected) const {
    return std::all_of(counts_.begin(), counts_.end(), [&](std::uint32_t count) { return count == expected; });
  }
  void clear() { std::fill(counts_.begin(), counts_.end(), 0U); }

 private:
  std::vector<std::uint32_t> counts_;
};

/// One case: loops over `size` indices whose bodies mark the index and run `steps` of work.
template <typename Partitioner>
void flat(bench::session& session, const char* name, std::size_t size, std::uint64_t steps) {
  visits seen(size);
  Partitioner partitioner;  // one for all loops, as affinity_partitioner wants it
  session.measure(name, [&](std::uint64_t iterations, bench::stopwatch& watch) {
    seen.clear();
    watch.start();
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      tbb::parallel_for(
          range(0, size),
          [&](const range& part) {
            for (std::size_t index = part.begin(); index != part.end(); ++index) {
              seen.mark(index);
              bench::keep(bench::chain(index, steps));
            }
          },
          partitioner);
    }
    watch.stop();
    session.expect(seen.all(iterations), "each index is visited once a loop");
  });
}

/// 64 outer indices, each with a loop over 256 of its own.
void nested(bench::session& session) {
  constexpr std::size_t outer = 64;
  constexpr std::size_t inner = 256;
  visits seen(outer * inner);
  session.measure("nested", [&](std::uint64_t iterations, bench::stopwatch& watch) {
    seen.clear();
    watch.start();
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      tbb::parallel_for(std::size_t{0}, outer, [&](std::size_t row) {
        tbb::parallel_for(std::size_t{0}, inner, [&, row](std::size_t column) {
          seen.mark(row * inner + column);
          bench::keep(bench::chain(column, 16));
        });
      });
    }
    watch.stop();
    session.expect(seen.all(iterations), "each index is visited once a loop");
  });
}

/// The cost of an index grows with its cube: half of the work is in the last sixth.
void skewed(bench::session& session) {
  constexpr std::size_t size = 1024;
  visits seen(size);
  session.measure("skewed", [&](std::uint64_t iterations, bench::stopwatch& watch) {
    seen.clear();
    watch.start();
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      tbb::parallel_for(std::size_t{0}, size, [&](std::size_t index) {
        seen.mark(index);
        bench::keep(bench::chain(index, index * index * index >> 18));
      });
    }
    watch.stop();
    session.expect(seen.all(iterations), "each index is visited once a loop");
  });
}

/// 1,000 loops of 64 indices, one after the other: what a solver with short phases does.
void back_to_back(bench::session& session) {
  constexpr std::size_t size = 64;
  constexpr std::uint64_t loops = 1000;
  visits seen(size);
  session.measure("back_to_back", [&](std::uint64_t iterations, bench::stopwatch& watch) {
    seen.clear();
    watch.start();
    for (std::uint64_t iteration = 0; iteration < iterations * loops; ++iteration) {
      tbb::parallel_for(std::size_t{0}, size, [&](std::size_t index) {
        seen.mark(index);
        bench::keep(bench::chain(index, 16));
      });
    }
    watch.stop();
    session.expect(seen.all(iterations * loops), "each index is visited once a loop");
  });
}

/// A task of some microseconds for each thread, loop after loop: who has taken one finds nothing more to take.
void one_each(bench::session& session, const char* name, std::uint64_t steps) {
  const auto size = static_cast<std::size_t>(session.threads());
  visits seen(size);
  session.measure(name, [&](std::uint64_t iterations, bench::stopwatch& watch) {
    seen.clear();
    watch.start();
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      tbb::parallel_for(
          std::size_t{0}, size,
          [&](std::size_t index) {
            seen.mark(index);
            bench::keep(bench::chain(index, steps));
          },
          tbb::simple_partitioner{});
    }
    watch.stop();
    session.expect(seen.all(iterations), "each index is visited once a loop");
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "loops");
  constexpr std::size_t size = 20'000;
  flat<const tbb::simple_partitioner>(session, "empty_simple", size, 0);
  flat<const tbb::auto_partitioner>(session, "empty_auto", size, 0);
  flat<const tbb::static_partitioner>(session, "empty_static", size, 0);
  flat<tbb::affinity_partitioner>(session, "empty_affinity", size, 0);
  flat<const tbb::simple_partitioner>(session, "100ns_simple", size, bench::steps_100_ns);
  flat<const tbb::auto_partitioner>(session, "100ns_auto", size, bench::steps_100_ns);
  flat<const tbb::static_partitioner>(session, "100ns_static", size, bench::steps_100_ns);
  flat<tbb::affinity_partitioner>(session, "100ns_affinity", size, bench::steps_100_ns);
  nested(session);
  skewed(session);
  back_to_back(session);
  one_each(session, "one_each_1us", 10 * bench::steps_100_ns);
  one_each(session, "one_each_2us", 20 * bench::steps_100_ns);
  one_each(session, "one_each_5us", 50 * bench::steps_100_ns);
  return session.end();
}
