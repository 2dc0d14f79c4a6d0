// Homes for the stages of pipelines, which reach below oneTBB's documented interface: compiled with 2021.8's and
// 2023.2's headers, each item passes all stages once.
#include <homing/parallel_pipeline.hpp>

#include <oneapi/tbb/parallel_pipeline.h>

#include <cstdio>

namespace {

constexpr int items = 1000;

int sum_through_pipeline() {
  int fetched = 0;
  int sum = 0;
  const auto home_of = [](const int& i) {
    return homing::domain_index{static_cast<unsigned>(i) % homing::domain_count()};
  };
  tbb::parallel_pipeline(
      8, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, homing::on(0,
                                                                                   [&](tbb::flow_control& control) {
                                                                                     if (fetched == items)
                                                                                       control.stop();
                                                                                     return fetched++;
                                                                                   })) &
             tbb::make_filter<int, int>(tbb::filter_mode::parallel, homing::on(home_of, [](int i) { return 2 * i; })) &
             tbb::make_filter(tbb::filter_mode::serial_in_order, homing::on(0, [&](int i) { sum += i; })));
  return sum;
}

}  // namespace

int main() {
  const int sum = sum_through_pipeline();
  if (sum != items * (items - 1)) {
    std::printf("failed: the sum is %d\n", sum);
    return 1;
  }
}
