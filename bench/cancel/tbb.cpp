// Stopping early: a loop, a tree of loops, and an exception that has to find its way out.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <stdexcept>

#include "../common/harness.hpp"

namespace {

constexpr std::size_t size = 1'000'000;

/// An index in the middle cancels; most of the loop must not run.
void loop(bench::session& session) {
  session.measure("loop", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      tbb::task_group_context context;
      tbb::parallel_for(
          std::size_t{0}, size,
          [&](std::size_t index) {
            if (index % 1024 == 0) context.cancel_group_execution();
          },
          tbb::simple_partitioner{}, context);
      session.expect(context.is_group_execution_cancelled(), "the loop is cancelled");
    }
  });
}

/// Eight loops under one context; cancelling it stops them all.
void tree(bench::session& session) {
  session.measure("tree", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      tbb::task_group_context outer;
      std::atomic<int> inner_cancelled{0};
      tbb::parallel_for(
          0, 8,
          [&](int) {
            tbb::task_group_context inner;
            tbb::parallel_for(
                std::size_t{0}, size,
                [&](std::size_t index) {
                  if (index == 100) outer.cancel_group_execution();
                },
                tbb::simple_partitioner{}, inner);
            if (inner.is_group_execution_cancelled()) inner_cancelled.fetch_add(1);
          },
          tbb::simple_partitioner{}, outer);
      session.expect(outer.is_group_execution_cancelled() && inner_cancelled.load() > 0,
                     "outer and inner loops are cancelled");
    }
  });
}

void exception(bench::session& session) {
  session.measure("exception", [&](std::uint64_t iterations) {
    std::uint64_t caught = 0;
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      try {
        tbb::parallel_for(
            std::size_t{0}, size,
            [&](std::size_t index) {
              if (index == 100) throw std::runtime_error("stop");
            },
            tbb::simple_partitioner{});
      } catch (const std::runtime_error&) {
        ++caught;
      }
    }
    session.expect(caught == iterations, "every exception is caught");
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "cancel");
  loop(session);
  tree(session);
  exception(session);
  return session.end();
}
