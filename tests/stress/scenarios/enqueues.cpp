// Scenarios of enqueued tasks, for which nobody waits in the library.
#include <tbb/parallel_for.h>

#include "common/scenario.hpp"

namespace stress {
namespace {

tbb::task_arena::priority priority_of(int level) {
  constexpr tbb::task_arena::priority priorities[] = {tbb::task_arena::priority::low, tbb::task_arena::priority::normal,
                                                      tbb::task_arena::priority::high};
  return priorities[level];
}

}  // namespace

/// Tasks are enqueued into arenas that are destroyed at once, and by threads that end at once.
void enqueue_and_leave(const round& r) {
  rng random(r.seed);
  const int threads = random.between(1, 8);
  const int arenas = random.between(1, 6);
  const int tasks = random.between(1, 20);
  const int from_tasks = 3;  // each task enqueues that many more into its own arena
  const auto total = static_cast<std::size_t>(threads * (arenas + 1) * tasks * (1 + from_tasks));
  ledger books(total);
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  const auto run_item = [&] {
    { const ledger::entry entry(books, next.fetch_add(1, std::memory_order_relaxed)); }
    done.fetch_add(1, std::memory_order_release);
  };
  const auto task = [&] {
    for (int i = 0; i < from_tasks; ++i) tbb::this_task_arena::enqueue(run_item);
    run_item();
  };
  run_threads(threads, [&](int t) {
    rng own(derive(r.seed, static_cast<std::uint64_t>(t)));
    for (int a = 0; a < arenas; ++a) {
      tbb::task_arena arena(own.between(1, r.threads), static_cast<unsigned>(own.below(2)), priority_of(own.below(3)));
      for (int i = 0; i < tasks; ++i) arena.enqueue(task);
    }
    for (int i = 0; i < tasks; ++i) tbb::this_task_arena::enqueue(task);
  });
  // No library call here: the tasks must run although nobody waits for them.
  wait_until([&] { return done.load(std::memory_order_acquire) == total; });
  require(books.complete(), "enqueue: lost tasks");
}

/// Arenas of all priorities with enqueued work and loops of several threads in each.
void priority_arenas(const round& r) {
  rng random(r.seed);
  constexpr int levels = 3;
  std::vector<std::unique_ptr<tbb::task_arena>> arenas;
  for (int level = 0; level < levels; ++level) {
    arenas.push_back(std::make_unique<tbb::task_arena>(random.between(2, r.threads), 1, priority_of(level)));
  }
  const int threads = random.between(3, 9);
  constexpr int tasks = 60;
  const auto total = static_cast<std::size_t>(threads * tasks);
  ledger enqueued(total);
  ledger looped(total * 8);
  std::atomic<std::size_t> done{0};
  run_threads(threads, [&](int t) {
    tbb::task_arena& own = *arenas[static_cast<std::size_t>(t % levels)];
    tbb::task_arena& other = *arenas[static_cast<std::size_t>((t + 1) % levels)];
    for (int i = 0; i < tasks; ++i) {
      const auto item = static_cast<std::size_t>(t * tasks + i);
      other.enqueue([&, item] {
        { const ledger::entry entry(enqueued, item); }
        done.fetch_add(1, std::memory_order_release);
      });
      own.execute([&] {
        tbb::parallel_for(std::size_t{0}, std::size_t{8}, [&](std::size_t k) {
          const ledger::entry entry(looped, item * 8 + k);
          burn(1000);
        });
      });
    }
  });
  require(looped.complete(), "priorities: lost items of loops");
  wait_until([&] { return done.load(std::memory_order_acquire) == total; });
  require(enqueued.complete(), "priorities: lost enqueued tasks");
}

}  // namespace stress
