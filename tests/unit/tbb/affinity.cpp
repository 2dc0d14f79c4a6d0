// A loop with an affinity_partitioner runs again where it ran before, one with a static_partitioner on the same
// threads, and a task's affinity is never rewritten: made-up machines of 1, 2 and 4 nodes, each in a process of its
// own.
#include <gtest/gtest.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <array>
#include <atomic>
#include <ostream>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"

namespace {

using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::on_machine;

struct machine_case {
  const char* topology;
  int nodes;
  int threads;
  friend void PrintTo(const machine_case& c, std::ostream* out) { *out << c.topology; }
};

class affinity : public ::testing::TestWithParam<machine_case> {
 protected:
  /// Slots are dealt to the nodes in equal blocks.
  static int node_of(int slot) { return slot * GetParam().nodes / GetParam().threads; }
};

/// As many chunks as threads, and each waits for all others: so all threads are there, and each has one. With nothing
/// else to steal, where a chunk runs is the runtime's choice alone.
class loop {
 public:
  explicit loop(int threads) : threads_(threads), slots_(static_cast<std::size_t>(threads)) {}

  /// The slot of each chunk.
  const std::vector<int>& run() {
    std::atomic<int> here{0};
    tbb::parallel_for(
        tbb::blocked_range<int>(0, threads_, 1),
        [&](const tbb::blocked_range<int>& range) {
          for (int i = range.begin(); i != range.end(); ++i) {
            slots_[static_cast<std::size_t>(i)] = tbb::this_task_arena::current_thread_index();
          }
          here += static_cast<int>(range.size());
          await("all threads of a loop", [&] { return here.load() == threads_; });
        },
        partitioner_);
    return slots_;
  }

 private:
  const int threads_;
  std::vector<int> slots_;
  tbb::affinity_partitioner partitioner_;
};

TEST_P(affinity, a_loop_runs_again_where_it_ran_before) {
  in_own_process(on_machine(GetParam().topology), [] {
    constexpr int repetitions = 1000;
    const int threads = GetParam().threads;
    loop same(threads);
    std::vector<int> before = same.run();
    int same_slot = 0;
    int same_node = 0;
    for (int i = 0; i < repetitions; ++i) {
      const std::vector<int> now = same.run();
      for (std::size_t chunk = 0; chunk < now.size(); ++chunk) {
        same_slot += now[chunk] == before[chunk] ? 1 : 0;
        same_node += node_of(now[chunk]) == node_of(before[chunk]) ? 1 : 0;
      }
      before = now;
    }
    // All of them on a machine with nothing else to do; where threads lose their CPUs, some are late for their chunks.
    EXPECT_GE(same_slot, repetitions * threads * 3 / 4);
    EXPECT_GE(same_node, repetitions * threads * 3 / 4);
  });
}

INSTANTIATE_TEST_SUITE_P(machines, affinity,
                         ::testing::Values(machine_case{"node:1 core:4 pu:1", 1, 4},
                                           machine_case{"node:2 core:2 pu:1", 2, 4},
                                           machine_case{"node:4 core:2 pu:1", 4, 8}));

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

/// Loops of one range a thread, all threads at once in each, and loop after loop, so that nobody falls asleep. How many
/// ranges ran on another thread than in the loop before.
int moved_ranges(tbb::task_arena& arena, std::vector<std::thread::id>& before, int loops) {
  const int threads = static_cast<int>(before.size());
  int moved = 0;
  for (int l = 0; l < loops; ++l) {
    std::vector<std::thread::id> now(before.size());
    std::atomic<int> present{0};
    arena.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<int>(0, threads, 1),
          [&](const tbb::blocked_range<int>& range) {
            now[static_cast<std::size_t>(range.begin())] = std::this_thread::get_id();
            ++present;
            await("all threads", [&] { return present == threads; });
          },
          tbb::static_partitioner());
    });
    for (std::size_t i = 0; i < now.size(); ++i) {
      moved += now[i] != before[i] ? 1 : 0;
    }
    before = now;
  }
  return moved;
}

/// Where threads lose their CPUs to others, some are late for their ranges, and no scheduler could keep them. So a
/// series of loops must come in which next to nobody is late; left to chance, 15 of 16 ranges would move in each.
TEST_P(affinity, of_a_static_loop_brings_a_range_back_to_its_thread) {
  in_own_process(on_machine(GetParam().topology), [] {
    constexpr std::size_t threads = 16;
    constexpr int loops = 5;
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    tbb::task_arena arena(threads);
    std::vector<std::thread::id> before(threads);
    static_cast<void>(moved_ranges(arena, before, 1));
    await("a series of loops whose ranges stay on their threads",
          [&] { return moved_ranges(arena, before, loops) <= static_cast<int>(threads) * loops / 20; });
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
