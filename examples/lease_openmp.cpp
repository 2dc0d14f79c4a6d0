// An OpenMP library inside a TBB program: while its region runs, the scheduler sends as many fewer workers, so that the
// two together run no more threads than there are. Prints what was granted, domain by domain; the sum is checked.
#include <homing/openmp_lease.hpp>

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

namespace {

constexpr int n = 1'000'000;

// What such a library does in place of `#pragma omp parallel for`.
std::int64_t sum_by_openmp(const homing::lease& threads) {
  std::atomic<std::int64_t> sum{0};
  homing::openmp::run(threads, homing::openmp::binding::domains, [&](const homing::openmp::team_member&) {
    std::int64_t mine = 0;
#pragma omp for
    for (int i = 0; i < n; ++i) mine += i;
    sum.fetch_add(mine, std::memory_order_relaxed);
  });
  return sum.load(std::memory_order_relaxed);
}

}  // namespace

int main() {
  // TBB is at work meanwhile.
  tbb::task_arena background;
  std::atomic<int> done{0};
  tbb::task_group group;
  background.execute([&] {
    group.run([&] { tbb::parallel_for(0, 1000, [&](int) { done.fetch_add(1, std::memory_order_relaxed); }); });
  });

  homing::lease threads;  // all that there are; lease_source::idle would leave arenas alone
  std::printf("%u threads%s:", threads.threads(), threads.is_managed() ? "" : " (nobody manages them)");
  for (std::uint32_t d = 0; d < threads.domain_count(); ++d) {
    std::printf(" %u of domain %u", threads.threads_in(homing::domain_index{d}), d);
  }
  std::printf("\n");
  const std::int64_t sum = sum_by_openmp(threads);
  threads.renew();  // between regions: gives up what others should have, takes what has come free
  const std::int64_t again = sum_by_openmp(threads);
  threads.end();  // back to TBB

  background.execute([&] { group.wait(); });
  const std::int64_t expected = std::int64_t{n} * (n - 1) / 2;
  const bool is_right = sum == expected && again == expected && done.load(std::memory_order_relaxed) == 1000;
  std::printf("%s\n", is_right ? "sums are right" : "sums are wrong");
  return is_right ? 0 : 1;
}
