// Leases: taken, renewed, moved and ended, by several threads and beside loops; all threads are back at the end.
#include <homing/lease.hpp>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <utility>

#include "faults.hpp"

namespace {

void beside_loops() {
  homing::lease some(2);
  faults::require(some.threads() >= 1 && some.threads() <= 2, "a lease of two has another number of threads");
  std::atomic<int> seen{0};
  tbb::parallel_for(0, 50, [&](int) { ++seen; });
  faults::require(seen == 50, "a loop beside a lease: not each item once");
  {
    homing::lease more(homing::lease::all, homing::lease_source::idle);
    more.renew();
    some.renew();
    homing::lease moved = std::move(more);
    faults::require(moved.threads() >= 1, "a lease without a thread");
    tbb::task_arena arena(2, 0);
    std::atomic<bool> ran{false};
    arena.enqueue([&] { ran = true; });
    faults::await("an enqueued task beside leases",
                  [&] { return ran.load(); });  // one thread for it, even if all are leased
  }
  some.end();
  faults::require(some.threads() == 1, "an ended lease has more than the caller");
  tbb::parallel_for(0, 50, [&](int) { ++seen; });
  faults::require(seen == 100, "a loop after a lease: not each item once");
}

void of_domains() {
  const auto count = homing::lease(1).domain_count();
  for (unsigned d = 0; d < count; ++d) {
    homing::lease there(2, homing::domain_set{homing::domain_index{d}});
    there.renew();
    std::atomic<int> seen{0};
    tbb::parallel_for(0, 20, [&](int) { ++seen; });
    faults::require(seen == 20, "a loop beside a domain's lease: not each item once");
  }
}

}  // namespace

int main() {
  return faults::check([] {
    beside_loops();
    of_domains();
  });
}
