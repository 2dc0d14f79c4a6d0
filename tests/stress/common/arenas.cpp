// Constructs that change where tasks run: arenas, enqueued work, isolation, observers, controls.
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_scheduler_observer.h>
#include <homing/steal_policy.hpp>

#include <thread>

#include "node.hpp"

namespace stress {
namespace {

tbb::task_arena::priority random_priority(rng& random) {
  constexpr tbb::task_arena::priority priorities[] = {tbb::task_arena::priority::low, tbb::task_arena::priority::normal,
                                                      tbb::task_arena::priority::high};
  return priorities[random.below(3)];
}

std::unique_ptr<tbb::task_arena> random_kind_of_arena(const node& n, rng& random, unsigned reserved) {
  const int concurrency = random.between(2, n.env->threads < 2 ? 2 : n.env->threads);
  const tbb::task_arena::priority priority = random_priority(random);
  switch (random.below(4)) {
    case 0:
      return std::make_unique<tbb::task_arena>();
    case 1: {
      tbb::task_arena::constraints where;
      const auto count = static_cast<int>(n.env->numa_nodes.size());
      where.numa_id = n.env->numa_nodes[static_cast<std::size_t>(random.below(count))];
      if (random.one_in(2)) where.max_concurrency = concurrency;
      return std::make_unique<tbb::task_arena>(where, reserved, priority);
    }
    default:
      return std::make_unique<tbb::task_arena>(concurrency, reserved, priority);
  }
}

/// Any arena that workers can enter, so that what is enqueued there runs; sometimes with a steal policy of its own.
std::unique_ptr<tbb::task_arena> random_arena(const node& n, rng& random, unsigned reserved) {
  std::unique_ptr<tbb::task_arena> arena = random_kind_of_arena(n, random, reserved);
  if (random.one_in(3)) homing::initialize(*arena, static_cast<homing::steal_policy>(random.below(3)));
  return arena;
}

/// A body of several items inside `arena`, entered with execute(); checks the returned value too.
void run_inside(const node& n, tbb::task_arena& arena, std::size_t items, const char* name) {
  ledger books(items);
  run_checked(n, books, name, [&] {
    const std::size_t answer = arena.execute([&] {
      const region_scope lifted(*n.env, nullptr);
      require(tbb::this_task_arena::current_thread_index() >= 0, "execute: no thread index");
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, items),
          [&](const tbb::blocked_range<std::size_t>& range) {
            for (std::size_t i = range.begin(); i != range.end(); ++i) {
              const ledger::entry entry(books, i);
              run_node(n.child(i));
            }
          },
          tbb::simple_partitioner{});
      return items + 1;
    });
    require(answer == items + 1, "execute: wrong result");
  });
}

/// Counts the entries and exits that each thread makes; an exit without an entry is a bug.
class counting_observer : public tbb::task_scheduler_observer {
 public:
  explicit counting_observer(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~counting_observer() override {
    observe(false);
    require(inside_.load(std::memory_order_relaxed) >= 0, "observer: more exits than entries");
  }
  void on_scheduler_entry(bool) override {
    inside_.fetch_add(1, std::memory_order_relaxed);
    note_progress();
  }
  void on_scheduler_exit(bool) override { inside_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  std::atomic<int> inside_{0};
};

}  // namespace

void arena_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  const std::size_t shared_count = n.env->shared_arenas.size();
  if (n.first_shared_arena < shared_count && random.one_in(2)) {
    const auto choices = static_cast<int>(shared_count - n.first_shared_arena);
    const std::size_t chosen = n.first_shared_arena + static_cast<std::size_t>(random.below(choices));
    node inner = n;
    inner.first_shared_arena = chosen + 1;
    return run_inside(inner, *n.env->shared_arenas[chosen], items, "execute in a shared arena");
  }
  switch (random.below(4)) {
    case 0: {  // all slots reserved: the caller works alone
      tbb::task_arena alone(random.between(1, 4), 4);
      return run_inside(n, alone, items, "execute in a reserved arena");
    }
    case 1: {
      tbb::task_arena attached{tbb::task_arena::attach{}};
      return run_inside(n, attached, items, "execute in an attached arena");
    }
    default: {
      const std::unique_ptr<tbb::task_arena> arena = random_arena(n, random, static_cast<unsigned>(random.below(2)));
      run_inside(n, *arena, items, "execute");
      if (random.one_in(3)) {
        arena->terminate();
        node again = n;
        again.seed = random.next();
        run_inside(again, *arena, items, "execute after terminate");
      }
    }
  }
}

/// Enqueues tasks of a group and waits for the group inside the arena. The slot reserved for the
/// waiting thread matters: in a full arena the wait would be handed to a thread that is inside, and
/// that may be inside a task of the very group.
void enqueue_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  ledger books(items);
  const std::unique_ptr<tbb::task_arena> arena = random_arena(n, random, 1);
  tbb::task_group group;
  run_checked(n, books, "enqueue", [&] {
    for (std::size_t i = 0; i < items; ++i) {
      arena->enqueue(group.defer([&n, &books, i] {
        const ledger::entry entry(books, i);
        run_node(n.child(i));
      }));
    }
    arena->execute([&] {
      const region_scope lifted(*n.env, nullptr);
      group.wait();
    });
  });
}

/// Inside isolate() a thread may run only tasks that were made there, unless an execute() in between has lifted the
/// isolation, as that of a graph's wait does too.
void isolate_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  ledger books(items);
  run_checked(n, books, "isolate", [&] {
    tbb::this_task_arena::isolate([&] {
      const region_scope region(*n.env, &books);
      const std::thread::id caller = std::this_thread::get_id();
      tbb::parallel_for(std::size_t{0}, items, [&](std::size_t i) {
        if (n.env->threads_keep_stacks && std::this_thread::get_id() == caller) {
          require(isolated_region == &books || isolated_region == nullptr, "isolate: a task of outside ran inside");
        }
        const ledger::entry entry(books, i);
        run_node(n.child(i));
      });
    });
  });
}

void observer_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  const std::unique_ptr<tbb::task_arena> arena = random_arena(n, random, 1);
  arena->initialize();
  counting_observer first(*arena);
  {
    counting_observer second(*arena);
    run_inside(n, *arena, items, "execute with two observers");
  }
  node again = n;
  again.seed = random.next();
  run_inside(again, *arena, items, "execute with one observer");
}

/// Runs items while the allowed parallelism is another one.
void control_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  const tbb::global_control parallelism(tbb::global_control::max_allowed_parallelism,
                                        static_cast<std::size_t>(random.between(1, 2 * n.env->threads)));
  ledger books(items);
  run_checked(n, books, "loop under a global_control", [&] {
    tbb::parallel_for(std::size_t{0}, items, [&](std::size_t i) {
      const ledger::entry entry(books, i);
      run_node(n.child(i));
    });
  });
}

}  // namespace stress
