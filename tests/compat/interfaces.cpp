// One use of each group of oneTBB's interface that both 2021.8's and 2023.2's headers have, so that the layouts that
// either set compiles into a program meet our library. Each check compares with a result known beforehand.
#include <oneapi/tbb.h>
#include <oneapi/tbb/mutex.h>     // not in the first header of all in 2021.8
#include <oneapi/tbb/rw_mutex.h>  // nor this

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int checks_failed = 0;

void check(bool holds, const char* what) {
  if (!holds) {
    ++checks_failed;
    std::printf("failed: %s\n", what);
  }
}

constexpr int count = 10000;
constexpr long sum_of_all = static_cast<long>(count) * (count - 1) / 2;

void loops() {
  std::vector<int> seen(count, 0);
  tbb::affinity_partitioner replay;
  for (int round = 0; round < 3; ++round) {
    tbb::parallel_for(
        tbb::blocked_range<int>(0, count),
        [&](const auto& r) {
          for (int i = r.begin(); i != r.end(); ++i) ++seen[static_cast<std::size_t>(i)];
        },
        replay);
  }
  tbb::parallel_for(
      0, count, [&](int i) { ++seen[static_cast<std::size_t>(i)]; }, tbb::static_partitioner());
  check(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 4; }), "parallel_for visits each index once");

  const auto part = [](const tbb::blocked_range<int>& r, long total) {
    for (int i = r.begin(); i != r.end(); ++i) total += i;
    return total;
  };
  const tbb::blocked_range<int> all(0, count);
  check(tbb::parallel_reduce(all, 0L, part, std::plus<long>()) == sum_of_all, "parallel_reduce");
  check(tbb::parallel_deterministic_reduce(all, 0L, part, std::plus<long>()) == sum_of_all, "deterministic reduce");
  const long scanned = tbb::parallel_scan(
      all, 0L, [&](const tbb::blocked_range<int>& r, long total, bool) { return part(r, total); }, std::plus<long>());
  check(scanned == sum_of_all, "parallel_scan");

  std::vector<int> numbers(count);
  std::iota(numbers.rbegin(), numbers.rend(), 0);
  tbb::parallel_sort(numbers.begin(), numbers.end());
  check(std::is_sorted(numbers.begin(), numbers.end()), "parallel_sort");

  std::atomic<int> fed{0};
  const std::vector<int> roots(10, 3);
  tbb::parallel_for_each(roots.begin(), roots.end(), [&](int depth, tbb::feeder<int>& feeder) {
    ++fed;
    if (depth > 0) feeder.add(depth - 1);
  });
  check(fed == 40, "parallel_for_each with a feeder");
}

void groups() {
  std::atomic<int> ran{0};
  tbb::task_group group;
  for (int i = 0; i < 100; ++i) group.run([&] { ++ran; });
  auto handle = group.defer([&] { ++ran; });
  group.run(std::move(handle));
  check(group.wait() == tbb::complete && ran == 101, "task_group runs every task");

  group.run([&] { group.cancel(); });
  check(group.wait() == tbb::canceled, "task_group reports cancellation");

  tbb::task_group_context context;
  bool caught = false;
  try {
    tbb::parallel_for(
        0, 100,
        [](int i) {
          if (i == 50) throw std::runtime_error("50");
        },
        context);
  } catch (const std::runtime_error& error) {
    caught = std::string(error.what()) == "50";
  }
  check(caught && context.is_group_execution_cancelled(), "an exception reaches the caller and cancels the context");

  tbb::parallel_invoke([&] { ++ran; }, [&] { ++ran; }, [&] { tbb::this_task_arena::isolate([&] { ++ran; }); });
  check(ran == 104, "parallel_invoke and isolate");
}

class entry_counter : public tbb::task_scheduler_observer {
 public:
  explicit entry_counter(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~entry_counter() override { observe(false); }
  void on_scheduler_entry(bool) override { ++entries; }
  std::atomic<int> entries{0};
};

void arenas() {
  tbb::task_arena arena(2, 1, tbb::task_arena::priority::high);
  {
    entry_counter counter(arena);
    const int width = arena.execute([] {
      tbb::parallel_for(0, 100, [](int) {});
      return tbb::this_task_arena::max_concurrency();
    });
    check(width == 2 && counter.entries >= 1, "task_arena with an observer");
  }
  const std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
  tbb::task_arena near(tbb::task_arena::constraints{}.set_numa_id(nodes.front()));
  check(!nodes.empty() && near.execute([] { return tbb::this_task_arena::max_concurrency(); }) ==
                              tbb::info::default_concurrency(nodes.front()),
        "an arena bound to a node");
  tbb::task_group group;
  std::atomic<bool> enqueued{false};
  arena.execute([&] { group.run([&] { enqueued = true; }); });
  arena.execute([&] { group.wait(); });
  check(enqueued, "a group across execute calls");

  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  check(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism) == 1, "global_control");
}

void flows() {
  int next = 0;
  long total = 0;
  tbb::parallel_pipeline(
      8, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& flow) {
           if (next == 1000) flow.stop();
           return next < 1000 ? next++ : 0;
         }) & tbb::make_filter<int, long>(tbb::filter_mode::parallel, [](int i) {
           return i * 2L;
         }) & tbb::make_filter<long, void>(tbb::filter_mode::serial_out_of_order, [&](long value) { total += value; }));
  check(total == 999000, "parallel_pipeline");

  tbb::flow::graph graph;
  std::atomic<long> arrived{0};
  tbb::flow::function_node<int, int> twice(graph, tbb::flow::unlimited, [](int i) { return 2 * i; });
  tbb::flow::function_node<int> add(graph, tbb::flow::serial, [&](int i) { arrived += i; });
  tbb::flow::make_edge(twice, add);
  for (int i = 0; i < 1000; ++i) twice.try_put(i);
  graph.wait_for_all();
  check(arrived == 999000, "a flow graph");

  tbb::concurrent_bounded_queue<int> queue;
  queue.set_capacity(4);
  long taken = 0;
  for (int i = 0; i < 100; ++i) {
    queue.push(i % 4);
    int value = 0;
    queue.pop(value);
    taken += value;
  }
  queue.abort();
  check(taken == 150, "concurrent_bounded_queue");
}

void suspension() {
  std::atomic<int> resumed{0};
  tbb::task_group group;
  for (int i = 0; i < 20; ++i) {
    group.run([&] {
      tbb::task::suspend([](tbb::task::suspend_point point) { tbb::task::resume(point); });
      ++resumed;
    });
  }
  group.wait();
  check(resumed == 20, "suspend and resume");
}

template <typename Mutex>
void locked(const char* what) {
  Mutex mutex;
  long guarded = 0;
  tbb::parallel_for(0, count, [&](int i) {
    const typename Mutex::scoped_lock hold(mutex);
    guarded += i;
  });
  check(guarded == sum_of_all, what);
}

void memory_and_mutexes() {
  locked<tbb::spin_mutex>("spin_mutex");
  locked<tbb::mutex>("mutex");
  locked<tbb::rw_mutex>("rw_mutex");
  locked<tbb::queuing_mutex>("queuing_mutex");
  locked<tbb::queuing_rw_mutex>("queuing_rw_mutex");
  locked<tbb::speculative_spin_mutex>("speculative_spin_mutex");
  locked<tbb::speculative_spin_rw_mutex>("speculative_spin_rw_mutex");
  std::vector<int, tbb::cache_aligned_allocator<int>> aligned(1000, 1);
  check(reinterpret_cast<std::uintptr_t>(aligned.data()) % 64 == 0, "cache_aligned_allocator");
  tbb::enumerable_thread_specific<long> parts(0L);
  tbb::parallel_for(0, count, [&](int i) { parts.local() += i; });
  check(parts.combine(std::plus<long>()) == sum_of_all, "enumerable_thread_specific");
  tbb::collaborative_call_once(*std::make_unique<tbb::collaborative_once_flag>(), [] {});
}

}  // namespace

int main() {
  loops();
  groups();
  arenas();
  flows();
  suspension();
  memory_and_mutexes();
  std::printf("headers %s on %s: %d check(s) failed\n", TBB_VERSION_STRING, TBB_runtime_version(), checks_failed);
  tbb::task_scheduler_handle handle{tbb::attach{}};
  check(tbb::finalize(handle, std::nothrow), "finalize");
  return checks_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
