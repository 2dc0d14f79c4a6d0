// Pipelines of all modes, also with homes of stages and with a stage that throws: each item once, in order where asked.
#include <homing/parallel_pipeline.hpp>

#include <tbb/parallel_pipeline.h>

#include <array>

#include "faults.hpp"

namespace {

constexpr int item_count = 60;
std::array<int, item_count> results;
int written = 0;

template <class Middle>
void stream(tbb::filter_mode mode, Middle&& middle) {
  int made = 0;
  written = 0;
  tbb::parallel_pipeline(6, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order,
                                                        [&made](tbb::flow_control& control) {
                                                          if (made == item_count) control.stop();
                                                          return made++;
                                                        }) &
                                tbb::make_filter<int, double>(mode, middle) &
                                tbb::make_filter<double, void>(tbb::filter_mode::serial_in_order, [](double value) {
                                  results[static_cast<std::size_t>(written++)] = static_cast<int>(value);
                                }));
  faults::require(written == item_count, "pipeline: an item was lost, or came twice");
  for (int i = 0; i < item_count; ++i) {
    faults::require(results[static_cast<std::size_t>(i)] == 2 * i, "pipeline: not in order");
  }
}

double twice(int i) { return 2.0 * i; }

// Items too large for a pointer, which the headers allocate.
void large_items() {
  using item = std::array<int, 20>;
  int made = 0;
  static std::atomic<int> sum;
  sum = 0;
  tbb::parallel_pipeline(
      4, tbb::make_filter<void, item>(tbb::filter_mode::serial_out_of_order, [&made](tbb::flow_control& control) {
           if (made == 30) control.stop();
           return item{made++};
         }) & tbb::make_filter<item, void>(tbb::filter_mode::parallel, [](const item& i) { sum += i[0]; }));
  faults::require(sum == 435, "large items: not each once");
}

struct own final : std::exception {};

void throwing_stage() {
  try {
    stream(tbb::filter_mode::parallel, [](int i) {
      if (i == 20) throw own();
      return twice(i);
    });
  } catch (const own&) {
    return;
  }
  throw faults::wrong{"a stage's exception did not arrive"};
}

}  // namespace

int main() {
  return faults::check([] {
    stream(tbb::filter_mode::parallel, &twice);
    stream(tbb::filter_mode::serial_out_of_order, &twice);
    stream(tbb::filter_mode::parallel, homing::on(homing::domain_index{homing::domain_count() - 1}, &twice));
    stream(tbb::filter_mode::parallel,
           homing::on([](int i) { return homing::domain_index{static_cast<unsigned>(i) % homing::domain_count()}; },
                      &twice));
    large_items();
    throwing_stage();
  });
}
