// The TBB variants: parallel_for over blocks, with and without an affinity_partitioner and locality queues (section 3).
#include <homing/locality_queues.hpp>

#include <oneapi/tbb/blocked_range3d.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <optional>

#include "pinning.hpp"
#include "sweep.hpp"

namespace jacobi {
namespace {

using block_range = tbb::blocked_range3d<std::size_t>;

// Pins whoever enters the arena by its slot there: the affinity_partitioner remembers slots.
class pinning_observer final : public tbb::task_scheduler_observer {
 public:
  explicit pinning_observer(tbb::task_arena& arena) : task_scheduler_observer(arena), count_(arena.max_concurrency()) {
    observe(true);
  }
  ~pinning_observer() override { observe(false); }
  void on_scheduler_entry(bool) override { pin_thread(tbb::this_task_arena::current_thread_index(), count_); }
  void on_scheduler_exit(bool) override { unpin_thread(); }

 private:
  int count_;
};

template <class F>
void for_each_block(const lattice& l, const block_range& part, F f) {
  for (std::size_t i = part.pages().begin(); i != part.pages().end(); ++i) {
    for (std::size_t j = part.rows().begin(); j != part.rows().end(); ++j) {
      for (std::size_t k = part.cols().begin(); k != part.cols().end(); ++k) f(l.number_of(i, j, k));
    }
  }
}

class tbb_executor final : public executor {
 public:
  tbb_executor(const variant& v, int threads, bool pin)
      : variant_(v),
        limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)),
        arena_(threads) {
    if (pin) pinning_.emplace(arena_);
  }

  void touch(run_state& run) override {
    loop(run.shape(), [&run](const block_range& part) {
      for_each_block(run.shape(), part, [&run](std::size_t block) { run.touch(block); });
    });
  }

  void sweep(run_state& run) override {
    if (variant_.how == dealing::tbb_queues) {
      loop(run.shape(), homing::through_queues(
                            run.queues(),
                            [&run](const block_range& part, auto put) {
                              for_each_block(run.shape(), part,
                                             [&](std::size_t block) { put(run.home(block), block); });
                            },
                            [&run](const block_queues::entry& taken) { run.process(taken.item); }));
    } else {
      loop(run.shape(), [&run](const block_range& part) {
        for_each_block(run.shape(), part, [&run](std::size_t block) { run.process(block); });
      });
    }
  }

 private:
  template <class Body>
  void loop(const lattice& l, const Body& body) {
    const extents& n = l.blocks();
    const block_range all(0, n.i, 1, 0, n.j, 1, 0, n.k, 1);
    arena_.execute([&] {
      if (variant_.split == partitioner::affinity) {
        tbb::parallel_for(all, body, affinity_);
      } else {
        tbb::parallel_for(all, body);
      }
    });
  }

  const variant& variant_;
  tbb::global_control limit_;
  tbb::task_arena arena_;
  std::optional<pinning_observer> pinning_;
  tbb::affinity_partitioner affinity_;  // used for the first touch and all sweeps
};

}  // namespace

std::unique_ptr<executor> make_tbb_executor(const variant& v, int threads, bool pin) {
  return std::make_unique<tbb_executor>(v, threads, pin);
}

}  // namespace jacobi
