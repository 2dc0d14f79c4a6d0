// Work sent to its data: loops along distributions, groups with addresses, run_on, pinned sections, locality queues.
#include <homing/distribution.hpp>
#include <homing/locality_queues.hpp>
#include <homing/parallel_for.hpp>
#include <homing/parallel_for_each.hpp>
#include <homing/parallel_reduce.hpp>
#include <homing/pinned.hpp>
#include <homing/tasks.hpp>

#include <functional>

#include "faults.hpp"

namespace {

constexpr std::size_t count = 200;
std::atomic<std::size_t> sum;
using range = tbb::blocked_range<std::size_t>;

homing::domain_index domain(std::size_t i) {
  return homing::domain_index{static_cast<unsigned>(i) % homing::domain_count()};
}

void loops() {
  const auto halves = homing::block(count);
  const auto add = [](const range& part) {
    for (std::size_t i = part.begin(); i != part.end(); ++i) sum += i;
  };
  sum = 0;
  homing::parallel_for(range(0, count), add, halves);
  homing::parallel_for(range(0, count), add, homing::cyclic(count));
  faults::require(sum == count * (count - 1), "loops along distributions: not each index once");
  const auto summed = [](const range& part, std::size_t so_far) {
    for (std::size_t i = part.begin(); i != part.end(); ++i) so_far += i;
    return so_far;
  };
  for (const auto& pieces : {halves, homing::cyclic(count)}) {  // few are planned on the stack, many on the heap, too
    const std::size_t reduced = homing::parallel_reduce(range(0, count), std::size_t{0}, summed, std::plus<>(), pieces);
    faults::require(reduced == count * (count - 1) / 2, "a reduction along a distribution: not each index once");
  }
}

void tasks() {
  sum = 0;
  homing::task_group group;
  for (std::size_t i = 0; i < 50; ++i) group.run(homing::on(domain(i)), [] { ++sum; });
  group.wait();
  faults::require(sum == 50, "addressed tasks: not each once");
  for (std::size_t d = 0; d < homing::domain_count(); ++d) {
    const std::size_t value = homing::run_on(domain(d), [d] { return d + 1; });
    faults::require(value == d + 1, "run_on: a wrong value");
    sum = 0;
    homing::pinned(domain(d), [] { tbb::parallel_for(0, 40, [](int) { ++sum; }); });
    faults::require(sum == 40, "a pinned section: not each item once");
  }
  for (int i = 0; i < 3; ++i) {
    sum = 0;
    homing::domain_arena arena(domain(homing::domain_count() - 1));
    arena.execute([] { tbb::parallel_for(0, 20, [](int) { ++sum; }); });
    faults::require(sum == 20, "a domain's arena: not each item once");
  }
}

void queues() {
  homing::locality_queues<std::size_t> entries;
  const std::size_t domains = entries.machine().domains().size();
  sum = 0;
  tbb::parallel_for(range(0, count), homing::through_queues(
                                         entries,
                                         [domains](const range& part, auto put) {
                                           for (std::size_t i = part.begin(); i != part.end(); ++i)
                                             put(homing::domain_index{static_cast<unsigned>(i % domains)}, i);
                                         },
                                         [](const auto& taken) { sum += taken.item; }));
  faults::require(sum == count * (count - 1) / 2, "locality queues: not each entry once");
  faults::require(entries.size() == 0, "locality queues: an entry is left");
}

}  // namespace

int main() {
  return faults::check([] {
    loops();
    tasks();
    queues();
  });
}
