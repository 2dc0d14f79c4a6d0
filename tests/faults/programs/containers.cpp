// What of oneTBB's headers sleeps and allocates through the library: queues, mutexes, hash maps, flow graphs.
#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_queue.h>
#include <tbb/concurrent_vector.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/flow_graph.h>
#include <tbb/mutex.h>
#include <tbb/parallel_for.h>
#include <tbb/queuing_mutex.h>
#include <tbb/rw_mutex.h>

#include <functional>

#include "faults.hpp"

namespace {

void bounded_queue() {
  tbb::concurrent_bounded_queue<int> queue;
  queue.set_capacity(4);
  std::atomic<bool> short_of_memory{false};
  int sum = 0;
  int pushed = 0;
  {
    const faults::helper<std::function<void()>> pusher([&] {
      for (int i = 1; i <= 50; ++i) {
        try {
          queue.push(i);
          pushed += i;
        } catch (const std::bad_alloc&) {
          short_of_memory = true;
        }
      }
      const faults::exempt from_faults;
      // A failed push leaves its place in the queue invalid, and the last one must arrive.
      while (!queue.try_push(-1)) sched_yield();
    });
    for (;;) {
      int value = 0;
      try {
        if (!queue.try_pop(value)) {
          sched_yield();
          continue;
        }
      } catch (const std::bad_alloc&) {
        short_of_memory = true;
        continue;
      }
      if (value < 0) break;
      sum += value;
    }
  }
  if (short_of_memory) throw std::bad_alloc();
  faults::require(sum == pushed && pushed == 1275, "a bounded queue: an item was lost");
}

void blocking_queue() {
  tbb::concurrent_bounded_queue<int> queue;
  queue.set_capacity(1);
  std::atomic<bool> aborted{false};
  std::atomic<bool> short_of_memory{false};
  const auto pop = [&] {
    try {
      int value = 0;
      queue.pop(value);
    } catch (const tbb::user_abort&) {
      aborted = true;
    } catch (const std::bad_alloc&) {
      short_of_memory = true;
    }
  };
  {
    const faults::helper<std::function<void()>> popper(pop);
    faults::await("the end of a blocked pop", [&] {
      queue.abort();
      return aborted.load() || short_of_memory.load();
    });
  }
  if (short_of_memory) throw std::bad_alloc();
}

template <class Mutex>
void mutex() {
  Mutex guard;
  int count = 0;
  tbb::parallel_for(0, 200, [&](int) {
    const typename Mutex::scoped_lock hold(guard);
    ++count;
  });
  faults::require(count == 200, "a mutex let two in");
}

void maps() {
  tbb::concurrent_hash_map<int, int> map;
  tbb::concurrent_vector<int> list;
  tbb::enumerable_thread_specific<int> own(0);
  tbb::parallel_for(0, 200, [&](int i) {
    tbb::concurrent_hash_map<int, int>::accessor at;
    map.insert(at, i % 50);
    ++at->second;
    list.push_back(i);
    ++own.local();
  });
  int sum = 0;
  for (const auto& [key, value] : map) sum += value;
  faults::require(sum == 200 && map.size() == 50 && list.size() == 200, "containers: an item was lost");
  faults::require(own.combine(std::plus<>()) == 200, "thread-specific counts: an item was lost");
}

void graph() {
  std::atomic<int> sum{0};
  tbb::flow::graph g;
  tbb::flow::function_node<int, int> twice(g, tbb::flow::unlimited, [](int i) { return 2 * i; });
  tbb::flow::function_node<int> add(g, tbb::flow::serial, [&](int i) { sum += i; });
  tbb::flow::make_edge(twice, add);
  try {
    for (int i = 0; i < 40; ++i) twice.try_put(i);
  } catch (...) {
    g.cancel();
    g.wait_for_all();
    throw;
  }
  g.wait_for_all();
  faults::require(sum == 1560, "a flow graph: a message was lost");
}

}  // namespace

int main() {
  return faults::check([] {
    bounded_queue();
    blocking_queue();
    mutex<tbb::mutex>();
    mutex<tbb::rw_mutex>();
    mutex<tbb::queuing_mutex>();
    maps();
    graph();
  });
}
