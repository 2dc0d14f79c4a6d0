// Figure 13 of the TBB-NUMA paper, in the shape of fluidanimate: a grid of cells in partitions, which advances frame by
// frame. Each frame has several phases, each phase a task for each partition, addressed to the domain that has its
// cells. A phase is short, and its tasks are alike: threads that have done theirs wait for the next one, instead of
// taking cells of another domain.
#include <homing/distributed_array.hpp>
#include <homing/steal_policy.hpp>
#include <homing/tasks.hpp>

#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numeric>

namespace {

constexpr std::size_t rows = 1536;
constexpr std::size_t columns = 256;
constexpr std::size_t rows_of_partition = 32;
constexpr int frames = 30;
constexpr int first_counted = 2;  // while the first frames run, threads are still being made

struct cell {
  double density;
  double inflow;
};

// Some fluid in the middle.
cell cell_at_start(std::size_t i, std::size_t j) {
  return {.density = i >= 100 && i < 150 && j >= 100 && j < 150 ? 1.0 : 0.0, .inflow = 0};
}

// The cells, in blocks of whole rows for each domain: dd.
class grid {
 public:
  grid() : cells_({rows, columns}, homing::from_index(&cell_at_start)) {}

  [[nodiscard]] static constexpr std::size_t num_partitions() { return rows / rows_of_partition; }
  [[nodiscard]] static constexpr std::size_t first_row(std::size_t partition) { return partition * rows_of_partition; }
  /// Where most of a partition is: the home of its middle.
  [[nodiscard]] homing::place affinity_for_partition(std::size_t partition) const {
    return homing::on(cells_.distribution().home_of({first_row(partition) + rows_of_partition / 2, 0}));
  }
  [[nodiscard]] auto& cells() { return cells_; }

 private:
  homing::distributed_array<cell, 2> cells_;
};

// One phase: a task for each partition, at its home. All of them have run when it returns. First go those that leave
// this thread's domain, since a thread that waits takes back what it sent last.
template <class Worker>
void run_phase(const grid& g, std::atomic<int>& at_home, const Worker& worker) {
  homing::task_group group;
  for (const bool stays : {false, true}) {
    for (std::size_t i = 0; i < grid::num_partitions(); ++i) {
      const homing::place home = g.affinity_for_partition(i);
      if ((home.domain() == homing::current_domain()) != stays) continue;
      group.run(home, [&worker, &at_home, home, i] {
        if (homing::current_domain() == *home.domain()) at_home.fetch_add(1, std::memory_order_relaxed);
        for (std::size_t row = grid::first_row(i); row < grid::first_row(i + 1); ++row) worker(row);
      });
    }
  }
  group.wait();
}

void advance_frame(grid& g, std::atomic<int>& at_home) {
  auto& cells = g.cells();
  run_phase(g, at_home, [&](std::size_t i) {  // clear
    for (cell& c : cells.row(i)) c.inflow = 0;
  });
  run_phase(g, at_home,
            [&](std::size_t i) {  // what comes from the neighbours less what goes to them, of other partitions, too
              for (std::size_t j = 0; j < columns; ++j) {
                const double here = cells(i, j).density;
                if (i > 0) cells(i, j).inflow += (cells(i - 1, j).density - here) / 8;
                if (i + 1 < rows) cells(i, j).inflow += (cells(i + 1, j).density - here) / 8;
                if (j > 0) cells(i, j).inflow += (cells(i, j - 1).density - here) / 8;
                if (j + 1 < columns) cells(i, j).inflow += (cells(i, j + 1).density - here) / 8;
              }
            });
  run_phase(g, at_home, [&](std::size_t i) {  // advance
    for (cell& c : cells.row(i)) c.density += c.inflow;
  });
}

}  // namespace

int main() {
  grid g;
  std::printf("placement: %s\n", g.cells().placement().describe().c_str());
  tbb::task_arena arena;
  homing::initialize(arena, homing::steal_policy::domain);
  std::atomic<int> at_home{0};
  arena.execute([&] {
    for (int i = 0; i < frames; ++i) {
      if (i == first_counted) at_home = 0;
      advance_frame(g, at_home);
    }
  });

  const auto tasks = static_cast<int>(3 * (frames - first_counted) * grid::num_partitions());
  std::printf("%d frames on %u domains: from the third on, %d of %d tasks ran at home\n", frames,
              homing::domain_count(), at_home.load(), tasks);

  // What flows out of one cell flows into another, and the start was the same seen from all sides.
  const double fluid = std::accumulate(g.cells().begin(), g.cells().end(), 0.0,
                                       [](double sum, const cell& c) { return sum + c.density; });
  bool right = std::abs(fluid - 2500) < 1e-6 && g.cells()(99, 125).density > 0.1;
  for (std::size_t k = 0; k < 60; ++k) {
    right &= std::abs(g.cells()(124 - k, 110).density - g.cells()(125 + k, 110).density) < 1e-9;
  }
  std::printf("%.6f units of fluid, %s\n", fluid, right ? "as at the start" : "WRONG");

  // Addresses are hints. But on a machine as busy as it may be, they do no worse than chance; unless stock oneTBB runs
  // us, which ignores them, or there are fewer threads than domains, so that some have none.
  const bool judged = homing::runtime().is_homing &&
                      tbb::this_task_arena::max_concurrency() >= static_cast<int>(homing::domain_count());
  const bool helps = !judged || at_home * static_cast<int>(homing::domain_count()) >= tasks;
  if (!judged) std::puts("not judged: that takes Homing's scheduler, and as many threads as domains");
  if (!helps) std::puts("WRONG: fewer tasks at home than by chance");
  return right && helps ? 0 : 1;
}
