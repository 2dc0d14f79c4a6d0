// The code of docs/guide/locality_queues.md, compiled and run (tests/tidy/snippets.py holds page and program together).
#include <homing/distribution.hpp>
#include <homing/openmp.hpp>

#include <thread>
#include <vector>

#include "unit/common/locality_fixture.hpp"

namespace {

struct tile {
  int i;
  int j;
};

TEST(guide, openmp_tasks) {
  constexpr int rows = 12;
  constexpr int columns = 5;
  homing::testing::ledger seen(rows * columns);
  const auto sweep = [&](const tile& t) { seen.note(static_cast<std::size_t>(t.i * columns + t.j)); };

  const auto home = homing::block(rows);  // as the rows' pages were placed or first touched
  homing::locality_queues<tile> queues;
#pragma omp parallel
#pragma omp single
  for (int j = 0; j < columns; ++j) {  // "kji": the domains' queues fill at the same time
    for (int i = 0; i < rows; ++i) {
      homing::openmp::submit(queues, home.home_of(static_cast<std::size_t>(i)), tile{i, j},
                             [&](const auto& taken) { sweep(taken.item); });
    }
  }

  EXPECT_TRUE(seen.all_seen_once());
}

TEST(guide, threads_of_your_own) {
  homing::testing::ledger seen(1000);
  const std::size_t last_domain = homing::topology::current().domains().size() - 1;

  homing::locality_queues<std::size_t> queues;
  for (std::size_t i = 0; i < 1000; ++i) queues.enqueue(homing::testing::domain(i < 500 ? 0 : last_domain), i);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (auto taken = queues.try_dequeue()) seen.note(taken->item);
    });
  }
  for (std::thread& t : threads) t.join();

  EXPECT_TRUE(seen.all_seen_once());
}

}  // namespace
