// Regions of few tasks, some microseconds each, in the forms that people write: one task of 2 us a thread, four of
// 1 us, or what a server sends to its workers, some shorter still. What shows is how many threads take part before the
// region is over.
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_for_each.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "../common/harness.hpp"

namespace {

constexpr std::uint64_t steps_1_us = 10 * bench::steps_100_ns;
constexpr std::uint64_t steps_2_us = 20 * bench::steps_100_ns;

class few_tasks {
 public:
  explicit few_tasks(bench::session& session) : session_(session) {}

  /// One case: `region()` runs so many tasks, each of which calls task().
  template <typename Region>
  void measure(const char* name, std::size_t tasks, Region region) {
    session_.measure(name, [&](std::uint64_t iterations) {
      done_.store(0, std::memory_order_relaxed);
      for (std::uint64_t i = 0; i < iterations; ++i) region();
      session_.expect(done_.load(std::memory_order_relaxed) == iterations * tasks, "each task runs once");
    });
  }
  void task(std::uint64_t steps) {
    bench::keep(bench::chain(steps, steps));
    done_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t done() const noexcept { return done_.load(std::memory_order_relaxed); }

 private:
  bench::session& session_;
  alignas(64) std::atomic<std::uint64_t> done_{0};
};

void tree(few_tasks& all, unsigned depth) {
  if (depth == 0) {
    all.task(steps_1_us);
    return;
  }
  tbb::task_group group;
  group.run([&all, depth] { tree(all, depth - 1); });
  tree(all, depth - 1);
  group.wait();
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "few_tasks");
  few_tasks all(session);
  const auto threads = static_cast<std::size_t>(session.threads());
  const auto two_us = [&all] { all.task(steps_2_us); };
  const auto one_us = [&all] { all.task(steps_1_us); };

  all.measure("for_2us", threads, [&] { tbb::parallel_for(std::size_t{0}, threads, [&](std::size_t) { two_us(); }); });
  all.measure("for_1us", 4 * threads,
              [&] { tbb::parallel_for(std::size_t{0}, 4 * threads, [&](std::size_t) { one_us(); }); });
  const auto group_of = [](std::size_t count, const auto& task) {
    tbb::task_group group;
    for (std::size_t i = 0; i < count; ++i) group.run(task);
    group.wait();
  };
  all.measure("group_2us", threads, [&] { group_of(threads, two_us); });
  all.measure("group_1us", 4 * threads, [&] { group_of(4 * threads, one_us); });
  all.measure("invoke_2us", 8,
              [&] { tbb::parallel_invoke(two_us, two_us, two_us, two_us, two_us, two_us, two_us, two_us); });
  const std::vector<int> items(threads);
  all.measure("vector_2us", threads, [&] { tbb::parallel_for_each(items, [&](int) { two_us(); }); });
  const std::list<int> chain(4 * threads);
  all.measure("list_1us", 4 * threads, [&] { tbb::parallel_for_each(chain, [&](int) { one_us(); }); });
  all.measure("reduce_2us", threads, [&] {
    const std::size_t sum = tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, threads), std::size_t{0},
        [&](const tbb::blocked_range<std::size_t>& part, std::size_t so_far) {
          for (std::size_t i = part.begin(); i != part.end(); ++i) two_us();
          return so_far + part.size();
        },
        std::plus<>());
    session.expect(sum == threads, "each index counts once");
  });
  all.measure("nested_2us", 4 * threads, [&] {
    tbb::parallel_for(std::size_t{0}, threads, [&](std::size_t) { tbb::parallel_for(0, 4, [&](int) { two_us(); }); });
  });
  all.measure("isolated_2us", threads, [&] {
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, threads, [&](std::size_t) { two_us(); }); });
  });
  all.measure("tree_1us", 32, [&] { tree(all, 5); });
  // Many threads add to one group, to one loop's items, to one arena.
  all.measure("spread_1us", 8 * threads, [&] {
    tbb::task_group group;
    for (std::size_t i = 0; i < threads; ++i) {
      group.run([&] {
        for (int k = 0; k < 8; ++k) group.run(one_us);
      });
    }
    group.wait();
  });
  // The spawning thread is busy until the others have done what it spawned, or waits for it in some way of its own.
  all.measure("behind_300ns", 8 * threads, [&] {
    const std::uint64_t before = all.done();
    tbb::task_group group;
    for (std::size_t i = 0; i < 8 * threads; ++i) group.run([&all] { all.task(3 * bench::steps_100_ns); });
    while (threads > 1 && all.done() != before + 8 * threads) std::this_thread::yield();
    group.wait();
  });
  const std::vector<int> root{6};
  all.measure("feeder_1us", 127, [&] {
    tbb::parallel_for_each(root, [&](int depth, tbb::feeder<int>& feeder) {
      one_us();
      for (int k = 0; depth > 0 && k < 2; ++k) feeder.add(depth - 1);
    });
  });
  tbb::flow::graph graph;
  tbb::flow::function_node<int> node(graph, tbb::flow::unlimited, [&](int) { two_us(); });
  all.measure("flow_2us", 2 * threads, [&] {
    for (std::size_t i = 0; i < 2 * threads; ++i) node.try_put(0);
    graph.wait_for_all();
  });
  tbb::task_arena arena(session.threads());
  const auto enqueue = [&](std::size_t tasks, const auto& task) {  // from outside: nobody in the arena but workers
    const std::uint64_t before = all.done();
    for (std::size_t i = 0; i < tasks; ++i) arena.enqueue(task);
    while (all.done() != before + tasks) std::this_thread::yield();
  };
  all.measure("enqueue_2us", threads, [&] { enqueue(threads, two_us); });
  all.measure("enqueue_200ns", threads, [&] { enqueue(threads, [&all] { all.task(2 * bench::steps_100_ns); }); });
  all.measure("enqueue_inside_1us", 8 * threads, [&] {
    const std::uint64_t before = all.done();
    arena.execute([&] {
      tbb::parallel_for(
          std::size_t{0}, threads,
          [&](std::size_t) {
            for (int k = 0; k < 8; ++k) arena.enqueue(one_us);
          },
          tbb::simple_partitioner());
    });
    while (all.done() != before + 8 * threads) std::this_thread::yield();
  });
  return session.end();
}
