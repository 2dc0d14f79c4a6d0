// Scenarios with many application threads, more than CPUs and more than slots.
#include <tbb/parallel_for.h>

#include "common/scenario.hpp"

namespace stress {

void trees_of_threads(const round& r) {
  rng random(r.seed);
  const unsigned wanted = random.one_in(3) ? feature_all & ~feature_suspend : feature_all;
  const unsigned features = allowed_features(r, wanted);
  round_environment env(r, features);
  run_threads(random.between(2, 6),
              [&](int i) { run_tree(env.get(), derive(r.seed, static_cast<std::uint64_t>(i)), features); });
}

/// Generations of threads that do one small thing with the library, and end.
void short_lived_external_threads(const round& r) {
  rng random(r.seed);
  const int threads = random.between(2, 2 * r.threads);
  const unsigned features = feature_all & ~(feature_suspend | feature_graph);
  round_environment env(r, features);
  for (int generation = 0; generation < 3; ++generation) {
    run_threads(threads, [&](int i) {
      const auto index = static_cast<std::uint64_t>(generation * 1000 + i);
      rng own(derive(r.seed, index));
      node n;
      n.env = &env.get();
      n.features = features;
      n.depth = 1;
      n.width = 6;
      n.seed = own.next();
      switch (own.below(4)) {
        case 0:
          break;   // never touches the library
        case 1: {  // a thread started by a thread
          ledger books(1);
          tbb::task_group group;
          std::thread spawner([&] {
            group.run([&] {
              const ledger::entry entry(books, 0);
              run_leaf(n);
            });
            group.wait();
          });
          spawner.join();
          require(books.complete(), "a thread that spawned and waited lost its task");
          break;
        }
        default:
          run_node(n);
      }
    });
  }
}

/// All threads execute in one small arena: bodies never run more at once than slots allow, and each
/// call returns its own result.
void crowded_arena(const round& r) {
  rng random(r.seed);
  const int concurrency = random.between(1, 4);
  const auto reserved = static_cast<unsigned>(random.below(concurrency + 1));
  tbb::task_arena arena(concurrency, reserved);
  const int threads = random.between(2, r.threads);
  const int calls = 8;
  ledger books(static_cast<std::size_t>(threads * calls));
  std::atomic<int> inside{0};
  // At least two slots exist even in an arena of one.
  const int slots = concurrency < 2 ? 2 : concurrency;
  run_threads(threads, [&](int i) {
    for (int call = 0; call < calls; ++call) {
      const auto item = static_cast<std::size_t>(i * calls + call);
      bool threw = false;
      try {
        const std::size_t answer = arena.execute([&] {
          const ledger::entry entry(books, item);
          require(inside.fetch_add(1) < slots, "more bodies at once than an arena has slots");
          const int index = tbb::this_task_arena::current_thread_index();
          require(index >= 0 && index < slots, "execute: the thread's index is out of range");
          burn(300);
          inside.fetch_sub(1);
          tbb::parallel_for(0, 4, [](int) { note_progress(); });
          if (item % 7 == 3) throw item;
          return item;
        });
        require(answer == item, "execute returned another call's result");
      } catch (const std::size_t& thrown) {
        require(thrown == item, "execute threw another call's exception");
        threw = true;
      }
      require(threw == (item % 7 == 3), "execute lost an exception");
    }
  });
  require(books.complete(), "execute: lost calls");
}

}  // namespace stress
