// Figure 10 of the TBB-NUMA paper: a pipeline of three stages. The first runs anywhere; the second works on a table
// that lives at domain 0, the third on one that lives at domain 1. An item that comes to a stage in another domain than
// its thread's leaves its thread for that domain's queue; the thread goes on with the next item. With one domain, all
// stay.
#include <homing/memory_resource.hpp>
#include <homing/parallel_pipeline.hpp>

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <memory_resource>
#include <vector>

namespace {

constexpr std::size_t item_count = 5000;
constexpr std::size_t table_size = 1 << 16;
constexpr std::size_t tokens = 64;  // items under way at most

// A table in the memory of one domain.
class table {
 public:
  table(homing::domain_index home, unsigned factor) : memory_(home), values_(table_size, &memory_) {
    for (std::size_t i = 0; i < table_size; ++i) values_[i] = static_cast<unsigned>(i) * factor;
  }
  unsigned sum_from(std::size_t place) const {
    unsigned sum = 0;
    for (std::size_t k = 0; k < 64; ++k) sum += values_[(place + 977 * k) % table_size];
    return sum;
  }

 private:
  homing::domain_resource memory_;
  std::pmr::vector<unsigned> values_;
};

struct item {
  std::size_t number;
  unsigned result;
};

}  // namespace

int main() {
  const homing::domain_index one{0};
  const homing::domain_index other{std::min(1U, homing::domain_count() - 1)};
  const table stage2_data(one, 3);
  const table stage3_data(other, 5);

  std::vector<unsigned> results;
  std::atomic<std::size_t> at_home{0};
  const auto note = [&](homing::domain_index home) { at_home += homing::current_domain() == home ? 1 : 0; };

  std::size_t read = 0;
  const auto stage1 = tbb::make_filter<void, item>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
    if (read == item_count) control.stop();
    return item{read++, 0};
  });
  const auto stage2 = tbb::make_filter<item, item>(tbb::filter_mode::parallel, homing::on(one, [&](item i) {
                                                     note(one);
                                                     i.result = stage2_data.sum_from(i.number);
                                                     return i;
                                                   }));
  // The last stage keeps the items' order and takes them one at a time, wherever they come from.
  const auto stage3 = tbb::make_filter<item, void>(tbb::filter_mode::serial_in_order, homing::on(other, [&](item i) {
                                                     note(other);
                                                     results.push_back(i.result + stage3_data.sum_from(i.number));
                                                   }));
  tbb::parallel_pipeline(tokens, stage1 & stage2 & stage3);

  std::printf("%u domains: %zu of %zu steps ran at home\n", homing::domain_count(), at_home.load(), 2 * item_count);
  bool right = results.size() == item_count;
  for (std::size_t i = 0; right && i < item_count; ++i) {
    right = results[i] == stage2_data.sum_from(i) + stage3_data.sum_from(i);
  }
  std::puts(right ? "every item passed both stages, in order" : "WRONG: an item was lost, or out of order");

  // Homes are hints. But on a machine as busy as it may be, they do no worse than chance; unless there are fewer
  // threads than domains, so that some have none.
  const bool judged = tbb::this_task_arena::max_concurrency() >= static_cast<int>(homing::domain_count());
  const bool helps = !judged || at_home * homing::domain_count() >= 2 * item_count;
  if (!helps) std::puts("WRONG: fewer steps at home than by chance");
  return right && helps ? 0 : 1;
}
