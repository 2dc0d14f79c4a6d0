// Scenarios in which settings change under running work: global_control, and observers.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_scheduler_observer.h>

#include "common/scenario.hpp"

namespace stress {
namespace {

/// Checks that no callback arrives once observe(false) has returned.
class short_observer : public tbb::task_scheduler_observer {
 public:
  short_observer() { observe(true); }
  explicit short_observer(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~short_observer() override {
    observe(false);
    live_ = false;
    require(in_callback_.load() == 0, "observer: a callback was running after observe(false)");
    require(balance_.load() >= 0, "observer: more exits than entries");
  }
  void on_scheduler_entry(bool) override { callback(+1); }
  void on_scheduler_exit(bool) override { callback(-1); }

 private:
  void callback(int step) {
    in_callback_.fetch_add(1);
    require(live_, "observer: a callback after observe(false)");
    note_progress();
    balance_.fetch_add(step);
    std::this_thread::yield();
    in_callback_.fetch_sub(1);
  }

  std::atomic<bool> live_{true};
  std::atomic<int> in_callback_{0};
  std::atomic<int> balance_{0};
};

void counted_loop(tbb::task_arena& arena, std::size_t items) {
  ledger books(items);
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, items),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t i = range.begin(); i != range.end(); ++i) {
            const ledger::entry entry(books, i);
            burn(200);
          }
        },
        tbb::simple_partitioner{});
  });
  require(books.complete(), "a loop lost items while settings changed");
}

}  // namespace

/// Threads that raise and lower the parallelism, and threads that run loops and enqueue.
void changing_controls(const round& r) {
  rng random(r.seed);
  const int changers = random.between(1, 4);
  const int workers = random.between(1, 4);
  std::atomic<int> working{workers};
  std::atomic<int> enqueued{0};
  std::atomic<int> ran{0};
  run_threads(changers + workers, [&](int t) {
    rng own(derive(r.seed, static_cast<std::uint64_t>(t)));
    if (t < changers) {
      while (working > 0) {
        const auto value = static_cast<std::size_t>(own.between(1, 2 * r.threads));
        const tbb::global_control control(tbb::global_control::max_allowed_parallelism, value);
        require(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism) <= value,
                "global_control: the least value must hold");
        if (own.one_in(2)) {
          const tbb::global_control second(tbb::global_control::max_allowed_parallelism,
                                           static_cast<std::size_t>(own.between(1, 4)));
          std::this_thread::yield();
        }
        if (own.one_in(4)) {
          const tbb::global_control stack(tbb::global_control::thread_stack_size,
                                          static_cast<std::size_t>(own.between(2, 8)) << 20);
          std::this_thread::yield();
        }
      }
      return;
    }
    for (int i = 0; i < 10; ++i) {
      tbb::task_arena arena(own.between(1, r.threads), static_cast<unsigned>(own.below(2)));
      enqueued.fetch_add(1);
      arena.enqueue([&ran] { ran.fetch_add(1); });
      counted_loop(arena, static_cast<std::size_t>(own.between(1, 400)));
    }
    --working;
  });
  wait_until([&] { return ran.load() == enqueued.load(); });
}

/// Observers that live for a few loops, on shared arenas that other threads enter and leave.
void changing_observers(const round& r) {
  rng random(r.seed);
  const int threads = random.between(2, 6);
  std::vector<std::unique_ptr<tbb::task_arena>> arenas;
  for (int i = 0; i < 2; ++i) {
    arenas.push_back(std::make_unique<tbb::task_arena>(random.between(2, r.threads), 1));
  }
  run_threads(threads, [&](int t) {
    rng own(derive(r.seed, static_cast<std::uint64_t>(t)));
    for (int i = 0; i < 12; ++i) {
      tbb::task_arena& arena = *arenas[static_cast<std::size_t>(own.below(2))];
      const auto items = static_cast<std::size_t>(own.between(1, 60));
      switch (own.below(4)) {
        case 0: {
          const short_observer observer(arena);
          counted_loop(arena, items);
          break;
        }
        case 1: {
          const short_observer first(arena);
          const short_observer second(arena);
          counted_loop(arena, items);
          break;
        }
        case 2:
          arena.execute([&] {  // of the arena that the thread is in
            const short_observer observer;
            counted_loop(arena, items);
          });
          break;
        default:
          counted_loop(arena, items);
          break;
      }
    }
  });
}

}  // namespace stress
