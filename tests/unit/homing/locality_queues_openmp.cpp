// Locality queues under OpenMP tasks: each block is done once, in both orders of submission, by teams larger than the
// machine, with more tasks than the OpenMP runtime lets wait; and blocks find threads of their home.
#include <homing/openmp.hpp>

#include <omp.h>

#include <cstddef>

#include "unit/common/locality_fixture.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

constexpr std::size_t slices = 20;
constexpr std::size_t rows = 60;
constexpr int team = 16;

using size_queues = locality_queues<std::size_t, claimed_domain>;

void claim(std::size_t domains) {
  claimed_domain::value = domain(static_cast<std::size_t>(omp_get_thread_num()) % domains);
}

TEST(openmp_queues, every_block_once_in_both_orders) {
  for (const char* text : {"node:1 core:2 pu:1", "node:2 core:2 pu:1", "node:4 core:2 pu:1", "node:8 core:1 pu:1"}) {
    const topology::snapshot machine = machine_of(text);
    const std::size_t domains = machine.domains().size();
    const auto home = [&](std::size_t slice) { return domain(slice * domains / slices); };
    for (const bool slices_first : {false, true}) {
      SCOPED_TRACE(text);
      size_queues queues(machine);
      ledger seen(slices * rows);
      const auto work = [&](const size_queues::entry& taken) { seen.note(taken.item); };
#pragma omp parallel num_threads(team)
      {
        claim(domains);
#pragma omp single
        for (std::size_t i = 0; i < slices * rows; ++i) {
          const std::size_t slice = slices_first ? i % slices : i / rows;
          const std::size_t row = slices_first ? i / slices : i % rows;
          openmp::submit(queues, home(slice), slice * rows + row, work);
        }
      }
      EXPECT_TRUE(seen.all_seen_once());
      EXPECT_EQ(queues.size(), 0U);
    }
  }
}

// With a thread in each domain and all queues full, whoever takes takes at home.
TEST(openmp_queues, full_queues_are_served_at_home) {
  const topology::snapshot machine = machine_of("node:4 core:2 pu:1");
  size_queues queues(machine);
  for (std::size_t i = 0; i < 4000; ++i) queues.enqueue(domain(i % 4), i);
  std::size_t away = 0;
#pragma omp parallel num_threads(4) reduction(+ : away)
  {
    claim(4);
#pragma omp for schedule(static)
    for (int i = 0; i < 2000; ++i) away += queues.dequeue().is_at_home() ? 0 : 1;
  }
  EXPECT_EQ(away, 0U) << "500 takings a domain, 1000 entries each";
  EXPECT_EQ(queues.size(), 2000U);
}

TEST(openmp_queues, several_threads_may_submit) {
  const topology::snapshot machine = machine_of("node:2 core:2 pu:1");
  size_queues queues(machine);
  ledger seen(1600);
  const auto work = [&](const size_queues::entry& taken) { seen.note(taken.item); };
#pragma omp parallel num_threads(team)
  {
    claim(2);
#pragma omp for schedule(static)
    for (int i = 0; i < 1600; ++i) openmp::submit(queues, domain(i % 2), static_cast<std::size_t>(i), work);
  }
  EXPECT_TRUE(seen.all_seen_once());
}

}  // namespace
