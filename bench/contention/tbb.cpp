// All threads at one queue or one lock: the parts of the runtime that put threads to sleep and wake them.
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/rw_mutex.h>

#include <atomic>
#include <thread>

#include "../common/harness.hpp"

namespace {

/// Calls body(index) `iterations` times for each thread of the arena, from as many tasks.
template <typename Body>
void everywhere(const bench::session& session, std::uint64_t iterations, const Body& body) {
  tbb::parallel_for(
      0, session.threads(),
      [&](int) {
        for (std::uint64_t index = 0; index < iterations; ++index) body(index);
      },
      tbb::static_partitioner{});
}

/// Spinning threads that outnumber the CPUs wait for each other by the time slice: at times 10 ns an
/// operation, at times 1 ms, so that no number of iterations can be found by trying.
bench::traits spinning(const bench::session& session) {
  const auto cpus = static_cast<int>(std::thread::hardware_concurrency());
  if (session.threads() <= cpus) return {};
  return {.iterations_max = 1000};
}

/// Each task puts an item in and takes one out, so that a pop finds the queue empty for an instant only.
template <typename Queue, typename Pop>
void queue(bench::session& session, const char* name, const Pop& pop) {
  session.measure(
      name,
      [&](std::uint64_t iterations) {
        Queue items;
        std::atomic<std::uint64_t> sum{0};
        everywhere(session, iterations, [&](std::uint64_t index) {
          items.push(index);
          sum.fetch_add(pop(items), std::memory_order_relaxed);
        });
        const auto threads = static_cast<std::uint64_t>(session.threads());
        session.expect(sum.load() == threads * (iterations * (iterations - 1) / 2), "what goes in comes out");
      },
      spinning(session));
}

/// A producer and a consumer outside the arena, with room for 16 items: both sleep often.
void hand_off(bench::session& session) {
  session.measure("bounded_hand_off", [&](std::uint64_t iterations) {
    tbb::concurrent_bounded_queue<std::uint64_t> items;
    items.set_capacity(16);
    std::thread producer([&] {
      for (std::uint64_t index = 0; index < iterations; ++index) items.push(index);
    });
    bool in_order = true;
    for (std::uint64_t index = 0; index < iterations; ++index) {
      std::uint64_t item = 0;
      items.pop(item);
      in_order = in_order && item == index;
    }
    producer.join();
    session.expect(in_order, "first in, first out");
  });
}

/// One write in eight; the rest only read. A plain mutex writes always.
template <typename Mutex, bool readers>
void lock(bench::session& session, const char* name, bench::traits special = {}) {
  session.measure(
      name,
      [&](std::uint64_t iterations) {
        Mutex mutex;
        std::uint64_t count = 0;
        everywhere(session, iterations, [&](std::uint64_t index) {
          if constexpr (readers) {
            const bool write = index % 8 == 0;
            typename Mutex::scoped_lock held(mutex, write);
            if (write) ++count;
            bench::keep(count);
          } else {
            typename Mutex::scoped_lock held(mutex);
            ++count;
          }
          bench::keep(bench::chain(index, 4));
        });
        const std::uint64_t each = readers ? (iterations + 7) / 8 : iterations;
        session.expect(count == each * static_cast<std::uint64_t>(session.threads()), "no increment is lost");
      },
      special);
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "contention");
  queue<tbb::concurrent_queue<std::uint64_t>>(session, "concurrent_queue", [](auto& items) {
    std::uint64_t item = 0;
    while (!items.try_pop(item)) std::this_thread::yield();
    return item;
  });
  queue<tbb::concurrent_bounded_queue<std::uint64_t>>(session, "bounded_queue", [](auto& items) {
    std::uint64_t item = 0;
    items.pop(item);
    return item;
  });
  hand_off(session);
  lock<tbb::mutex, false>(session, "mutex");
  lock<tbb::rw_mutex, true>(session, "rw_mutex");
  lock<tbb::queuing_rw_mutex, true>(session, "queuing_rw_mutex", spinning(session));
  return session.end();
}
