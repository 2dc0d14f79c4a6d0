// A loop with an affinity_partitioner runs again where it ran before, one with a static_partitioner on the same
// threads, and a task's affinity is never rewritten: made-up machines of 1, 2 and 4 nodes, each in a process of its
// own. All threads are there, and each is held until its own range can have come: so chance plays no part.
#include <gtest/gtest.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <ostream>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/held_threads.hpp"
#include "unit/common/own_process.hpp"

namespace {

using homing::testing::await;
using homing::testing::held_threads;
using homing::testing::in_own_process;
using homing::testing::on_machine;

struct machine_case {
  const char* topology;
  int threads;
  friend void PrintTo(const machine_case& c, std::ostream* out) { *out << c.topology; }
};

class affinity : public ::testing::TestWithParam<machine_case> {};

/// Loops of as many ranges as threads, and each range waits for all others: so each thread has one. A thread is held
/// until as many ranges have begun as lie before the one that it had last: then that one is in its mailbox. At first it
/// is the one of its slot's number.
template <class Partitioner>
class loop {
 public:
  explicit loop(int threads) : threads_(threads) {
    for (int i = 0; i < threads; ++i) {
      slots_.push_back(i);
    }
    ids_.resize(slots_.size());
  }

  /// From inside an arena of all threads.
  void run() {
    const std::vector<int> last = slots_;
    std::atomic<int> begun{0};
    tbb::task_arena inside(tbb::attach{});
    const held_threads others(inside, static_cast<unsigned>(threads_) - 1, [&] {
      const auto mine = std::find(last.begin(), last.end(), tbb::this_task_arena::current_thread_index());
      return begun.load() >= static_cast<int>(mine - last.begin());
    });
    tbb::parallel_for(
        tbb::blocked_range<int>(0, threads_, 1),
        [&](const tbb::blocked_range<int>& range) {
          for (int i = range.begin(); i != range.end(); ++i) {
            slots_[static_cast<std::size_t>(i)] = tbb::this_task_arena::current_thread_index();
            ids_[static_cast<std::size_t>(i)] = std::this_thread::get_id();
          }
          begun += static_cast<int>(range.size());
          await("all threads of a loop", [&] { return begun.load() == threads_; });
        },
        partitioner_);
  }
  /// Of each range, in the last loop.
  [[nodiscard]] const std::vector<int>& slots() const { return slots_; }
  [[nodiscard]] const std::vector<std::thread::id>& ids() const { return ids_; }

 private:
  const int threads_;
  std::vector<int> slots_;
  std::vector<std::thread::id> ids_;
  Partitioner partitioner_;
};

/// How many are in their places.
template <class T>
int count_same(const std::vector<T>& one, const std::vector<T>& other) {
  return std::inner_product(one.begin(), one.end(), other.begin(), 0, std::plus<>(), std::equal_to<>());
}

TEST_P(affinity, a_loop_runs_again_where_it_ran_before) {
  in_own_process(on_machine(GetParam().topology), [] {
    constexpr int repetitions = 1000;
    const int threads = GetParam().threads;
    loop<tbb::affinity_partitioner> same(threads);
    same.run();
    int same_slot = 0;
    for (int i = 0; i < repetitions; ++i) {
      const std::vector<int> before = same.slots();
      same.run();
      same_slot += count_same(before, same.slots());
    }
    EXPECT_EQ(same_slot, repetitions * threads);
  });
}

INSTANTIATE_TEST_SUITE_P(machines, affinity,
                         ::testing::Values(machine_case{"node:1 core:4 pu:1", 4}, machine_case{"node:2 core:2 pu:1", 4},
                                           machine_case{"node:4 core:2 pu:1", 8}));

/// Says where it was meant to run and where it did.
class addressed_task final : public tbb::detail::d1::task {
 public:
  addressed_task(tbb::detail::d1::wait_context& done, std::atomic<int>& away, tbb::detail::d1::slot_id address)
      : done_(done), away_(away), address_(address) {}

  tbb::detail::d1::task* execute(tbb::detail::d1::execution_data& ed) override {
    EXPECT_EQ(tbb::detail::d1::affinity_slot(ed), address_);
    away_ += tbb::detail::d1::execution_slot(ed) == address_ ? 0 : 1;
    done_.release();
    return nullptr;
  }
  tbb::detail::d1::task* cancel(tbb::detail::d1::execution_data& ed) override { return execute(ed); }

 private:
  tbb::detail::d1::wait_context& done_;
  std::atomic<int>& away_;
  const tbb::detail::d1::slot_id address_;
};

/// On more threads than CPUs, of which some fall asleep between the loops.
TEST_P(affinity, of_a_static_loop_brings_a_range_back_to_its_thread) {
  in_own_process(on_machine(GetParam().topology), [] {
    constexpr int threads = 16;
    constexpr int repetitions = 50;
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    tbb::task_arena arena(threads);
    loop<tbb::static_partitioner> same(threads);
    arena.execute([&] { same.run(); });
    int same_thread = 0;
    for (int i = 0; i < repetitions; ++i) {
      const std::vector<std::thread::id> before = same.ids();
      arena.execute([&] { same.run(); });
      same_thread += count_same(before, same.ids());
    }
    EXPECT_EQ(same_thread, repetitions * threads);
  });
}

/// Many more tasks than the threads can run at once, so that all kinds of takers come: the addressee, its neighbours,
/// thieves, and the creator.
TEST_P(affinity, of_a_task_stays_as_it_was_given_wherever_it_runs) {
  in_own_process(on_machine(GetParam().topology), [] {
    constexpr unsigned repetitions = 1000;
    const auto threads = static_cast<unsigned>(GetParam().threads);
    std::atomic<int> away{0};
    for (unsigned i = 0; i < repetitions; ++i) {
      tbb::task_group_context context;
      tbb::detail::d1::wait_context done(4 * threads);
      std::vector<addressed_task> tasks;
      tasks.reserve(4 * threads);
      for (unsigned k = 0; k < 4 * threads; ++k) {
        tasks.emplace_back(done, away, static_cast<tbb::detail::d1::slot_id>(k % threads));
        tbb::detail::d1::spawn(tasks.back(), context, static_cast<tbb::detail::d1::slot_id>(k % threads));
      }
      tbb::detail::d1::wait(done, context);
    }
    EXPECT_GT(away.load(), 0) << "no task ran away from its slot, so nothing was tested";
  });
}

}  // namespace
